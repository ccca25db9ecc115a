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
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AsciiString;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.TimeUnit;

/**
 * Netty 4.1, native epoll, one event loop thread that also accepts.
 * Routes: /sleep answers after 10 ms, /park after ten minutes, anything else at once.
 * Usage: java bench.Hello PORT
 */
public final class Hello extends ChannelInboundHandlerAdapter {
    private static final int BACKLOG = 4096;
    private static final AsciiString TYPE = AsciiString.cached("text/html; charset=UTF-8");
    private static final AsciiString SERVER = AsciiString.cached("netty");
    private static final AsciiString LENGTH = AsciiString.cached("11");
    private static final ByteBuf BODY = Unpooled.unreleasableBuffer(
        Unpooled.directBuffer().writeBytes("Hello World".getBytes(StandardCharsets.US_ASCII)));
    private static AsciiString date = now();

    private static AsciiString now() {
        return AsciiString.cached(DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC)));
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        try {
            if (!(message instanceof HttpRequest request)) {
                return; // the empty LastHttpContent of a request without a body
            }
            boolean last = !HttpUtil.isKeepAlive(request);
            String uri = request.uri();
            if (uri.startsWith("/sleep")) {
                ctx.executor().schedule(() -> answerNow(ctx, last), 10, TimeUnit.MILLISECONDS);
            } else if (uri.startsWith("/park")) {
                ctx.executor().schedule(() -> answerNow(ctx, last), 600, TimeUnit.SECONDS);
            } else {
                answer(ctx, last); // flushed once for all requests of this read
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    private static void answerNow(ChannelHandlerContext ctx, boolean last) {
        answer(ctx, last);
        ctx.flush();
    }

    private static void answer(ChannelHandlerContext ctx, boolean last) {
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, BODY.duplicate(), false);
        response.headers()
            .set(HttpHeaderNames.CONTENT_TYPE, TYPE)
            .set(HttpHeaderNames.SERVER, SERVER)
            .set(HttpHeaderNames.DATE, date)
            .set(HttpHeaderNames.CONTENT_LENGTH, LENGTH);
        if (last) {
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            ctx.write(response).addListener(ChannelFutureListener.CLOSE);
        } else {
            ctx.write(response, ctx.voidPromise());
        }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        ctx.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        ctx.close(); // a client that goes away is the bench's business
    }

    public static void main(String[] args) throws InterruptedException {
        var loop = new EpollEventLoopGroup(1);
        loop.scheduleWithFixedDelay(() -> date = now(), 1, 1, TimeUnit.SECONDS);
        new ServerBootstrap()
            .group(loop)
            .channel(EpollServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpServerCodec(), new Hello());
                }
            })
            .bind(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])))
            .sync().channel().closeFuture().sync();
    }
}
