// Boost.Beast as an asynchronous echo server on one thread: server PORT. DEFLATE=1 offers permessage-deflate.
//
// Tuned as in Beast's own "fast" example: no automatic fragments, and a socket whose executor is known at compile time.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdlib>
#include <memory>

namespace beast = boost::beast;
namespace net = boost::asio;
namespace websocket = beast::websocket;
using tcp = net::ip::tcp;
using Socket = net::basic_stream_socket<tcp, net::io_context::executor_type>;
using Acceptor = net::basic_socket_acceptor<tcp, net::io_context::executor_type>;

/// One connection. The handler of the running operation keeps it alive.
class Session : public std::enable_shared_from_this<Session> {
public:
    explicit Session(Socket&& socket) : stream(std::move(socket)) {}

    void run() {
        stream.next_layer().set_option(tcp::no_delay(true));
        stream.auto_fragment(false);
        // Masked or compressed messages are written in pieces of this size. With the default of 4 KiB, 1 MiB takes five times as long.
        stream.write_buffer_bytes(64 << 10);
        stream.read_message_max(64 << 20);
        if (std::getenv("DEFLATE")) {
            websocket::permessage_deflate deflate;
            deflate.server_enable = true;
            deflate.compLevel = 6;
            deflate.memLevel = 8;
            stream.set_option(deflate);
        }
        stream.async_accept([self = shared_from_this()](beast::error_code error) {
            if (!error) self->read();
        });
    }

private:
    void read() {
        stream.async_read(buffer, [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (!error) self->write();
        });
    }

    void write() {
        stream.text(stream.got_text());
        stream.async_write(buffer.data(), [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (error) return;
            self->buffer.consume(self->buffer.size());
            self->read();
        });
    }

    websocket::stream<Socket> stream;
    beast::flat_buffer buffer;
};

void accept(Acceptor& acceptor) {
    acceptor.async_accept([&acceptor](beast::error_code error, Socket socket) {
        if (!error) std::make_shared<Session>(std::move(socket))->run();
        accept(acceptor);
    });
}

int main(int, char** argv) {
    net::io_context context{1};
    auto port = static_cast<unsigned short>(std::atoi(argv[1]));
    Acceptor acceptor{context, tcp::endpoint{net::ip::make_address("127.0.0.1"), port}};
    acceptor.listen(4096);
    accept(acceptor);
    context.run();
}
