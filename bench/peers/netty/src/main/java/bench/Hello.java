package bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.util.AsciiString;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Netty 4.1 on its native epoll or on NIO, event loop threads that also accept: one, or as many as are asked for.
 * Routes: /sleep answers after 10 ms by a timer, /block after 10 ms in which the thread sleeps, /park after ten minutes, /json with
 * 10 KB, /received says how long the body was, /sent has 1 MiB, anything else is answered at once.
 * Usage: java bench.Hello PORT [epoll|nio [THREADS]]
 */
public final class Hello extends ChannelInboundHandlerAdapter {
    private static final int BACKLOG = 4096;
    private static final int ITEMS = 108;
    private static final int SENT_BYTES = 1 << 20;
    private static final int BODY_BYTES_MAX = 4 << 20;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final AsciiString TYPE = AsciiString.cached("text/html; charset=UTF-8");
    private static final AsciiString SERVER = AsciiString.cached("netty");
    private static final ByteBuf BODY = Unpooled.unreleasableBuffer(
        Unpooled.directBuffer().writeBytes("Hello World".getBytes(StandardCharsets.US_ASCII)));
    private static AsciiString date = now();

    /** An HTTP/1.0 client that keeps its connection, as ab does, has to be told that the server does. */
    private boolean tellsKept;

    private static AsciiString now() {
        return AsciiString.cached(DateTimeFormatter.RFC_1123_DATE_TIME.format(ZonedDateTime.now(ZoneOffset.UTC)));
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
        try {
            if (!(message instanceof HttpRequest request)) {
                return; // the empty LastHttpContent of a request without a body
            }
            boolean last = !HttpUtil.isKeepAlive(request);
            tellsKept = !last && !request.protocolVersion().isKeepAliveDefault();
            String uri = request.uri();
            if (uri.startsWith("/sleep")) {
                ctx.executor().schedule(() -> answerNow(ctx, last), 10, TimeUnit.MILLISECONDS);
            } else if (uri.startsWith("/block")) {
                Thread.sleep(10);
                answer(ctx, last);
            } else if (uri.startsWith("/json")) {
                answer(ctx, last, "application/json", Unpooled.wrappedBuffer(JSON.writeValueAsBytes(items(first(uri)))));
            } else if (uri.startsWith("/sent")) {
                answer(ctx, last, TYPE, sent(first(uri)));
            } else if (message instanceof FullHttpRequest whole && uri.startsWith("/received")) {
                String length = whole.content().readableBytes() + " bytes";
                answer(ctx, last, TYPE, Unpooled.copiedBuffer(length, StandardCharsets.US_ASCII));
            } else if (uri.startsWith("/park")) {
                ctx.executor().schedule(() -> answerNow(ctx, last), 600, TimeUnit.SECONDS);
            } else {
                answer(ctx, last); // flushed once for all requests of this read
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    private void answerNow(ChannelHandlerContext ctx, boolean last) {
        answer(ctx, last);
        ctx.flush();
    }

    /** One entry of the JSON scenario. */
    public record Item(int id, String name, int price, boolean stock, List<String> tags) { }

    private static List<Item> items(int first) {
        var items = new ArrayList<Item>(ITEMS);
        for (int id = first; id < first + ITEMS; id++) {
            items.add(new Item(id, "Item " + id, id * 7, id % 3 == 0, List.of("red", "large", "new")));
        }
        return items;
    }

    private static ByteBuf sent(int first) {
        var body = new byte[SENT_BYTES];
        Arrays.fill(body, (byte) 'x');
        var start = (first + " ").getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(start, 0, body, 0, start.length);
        return Unpooled.wrappedBuffer(body);
    }

    private static int first(String uri) {
        var values = new QueryStringDecoder(uri).parameters().get("id");
        return values == null ? 0 : Integer.parseInt(values.get(0));
    }

    private void answer(ChannelHandlerContext ctx, boolean last) {
        answer(ctx, last, TYPE, BODY.duplicate());
    }

    private void answer(ChannelHandlerContext ctx, boolean last, CharSequence type, ByteBuf body) {
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, body, false);
        response.headers()
            .set(HttpHeaderNames.CONTENT_TYPE, type)
            .set(HttpHeaderNames.SERVER, SERVER)
            .set(HttpHeaderNames.DATE, date)
            .setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        if (last) {
            response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
            ctx.write(response).addListener(ChannelFutureListener.CLOSE);
        } else {
            if (tellsKept) {
                response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
            }
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

    /** Collects the body of a request that has one; others pass as they are, without its cost. */
    private static final class Whole extends HttpObjectAggregator {
        private boolean collects;

        Whole() {
            super(BODY_BYTES_MAX);
        }

        @Override
        public boolean acceptInboundMessage(Object message) throws Exception {
            if (message instanceof HttpRequest request) {
                collects = HttpUtil.isContentLengthSet(request) || HttpUtil.isTransferEncodingChunked(request);
            }
            return collects && super.acceptInboundMessage(message);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        boolean nio = args.length > 1 && args[1].equals("nio");
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 1;
        EventLoopGroup loop = nio ? new NioEventLoopGroup(threads) : new EpollEventLoopGroup(threads);
        loop.scheduleWithFixedDelay(() -> date = now(), 1, 1, TimeUnit.SECONDS);
        new ServerBootstrap()
            .group(loop)
            .channel(nio ? NioServerSocketChannel.class : EpollServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(new ChannelInitializer<Channel>() {
                @Override
                protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpServerCodec());
                    channel.pipeline().addLast(new Whole(), new Hello());
                }
            })
            .bind(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])))
            .sync().channel().closeFuture().sync();
    }
}
