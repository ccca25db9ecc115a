package bench;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.ChannelMatchers;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketServerProtocolHandler;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/**
 * Netty 4.1's WebSockets, native epoll, one event loop thread that also accepts: the JVM peer of push.
 * /echo sends back what it gets, /crowd hears what /common?sequence=N publishes, anything else is answered at once.
 * Usage: java bench.Push PORT
 */
public final class Push extends ChannelInboundHandlerAdapter {
    private static final int BACKLOG = 4096;
    private static final int HEAD_BYTES_MAX = 4096;
    private static final int PAYLOAD_BYTES = 100;
    private static final ChannelGroup CROWD = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private static final ByteBuf HELLO = Unpooled.unreleasableBuffer(
        Unpooled.directBuffer().writeBytes("Hello World".getBytes(StandardCharsets.US_ASCII)));

    /** A WebSocket after its handshake. */
    private static final class Socket extends ChannelInboundHandlerAdapter {
        private final boolean listens;

        Socket(boolean listens) {
            this.listens = listens;
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof WebSocketServerProtocolHandler.HandshakeComplete) {
                if (listens) {
                    CROWD.add(ctx.channel());
                }
                ctx.writeAndFlush(new TextWebSocketFrame("welcome"), ctx.voidPromise());
            }
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object frame) {
            if (listens) {
                ((WebSocketFrame) frame).release();
            } else {
                ctx.write(frame, ctx.voidPromise()); // what was read is sent, without a copy
            }
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close(); // the bench notices what goes wrong
        }
    }

    /** The first request decides what the connection becomes. */
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        var request = (FullHttpRequest) message;
        var uri = request.uri();
        if (uri.startsWith("/crowd") || uri.startsWith("/echo")) {
            ctx.pipeline().addLast(
                new WebSocketServerProtocolHandler("/", null, false, HEAD_BYTES_MAX, false, true),
                new Socket(uri.startsWith("/crowd")));
            ctx.fireChannelRead(request);
            ctx.pipeline().remove(this);
            return;
        }
        if (uri.startsWith("/common")) {
            publish(new QueryStringDecoder(uri).parameters().get("sequence").get(0));
        }
        boolean last = !HttpUtil.isKeepAlive(request);
        request.release();
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, HELLO.duplicate(), false);
        response.headers()
            .set(HttpHeaderNames.CONTENT_TYPE, HttpHeaderValues.TEXT_PLAIN)
            .set(HttpHeaderNames.CONTENT_LENGTH, "11");
        if (last) {
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            ctx.write(response).addListener(ChannelFutureListener.CLOSE);
        } else {
            ctx.write(response, ctx.voidPromise());
        }
    }

    private static void publish(String sequence) {
        var text = "c " + sequence + " ";
        var frame = new TextWebSocketFrame(text + ".".repeat(PAYLOAD_BYTES - text.length()));
        CROWD.writeAndFlush(frame, ChannelMatchers.all(), true);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close();
    }

    public static void main(String[] args) throws InterruptedException {
        var loop = new EpollEventLoopGroup(1);
        new ServerBootstrap()
            .group(loop)
            .channel(EpollServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(HEAD_BYTES_MAX), new Push());
                }
            })
            .bind(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])))
            .sync().channel().closeFuture().sync();
    }
}
