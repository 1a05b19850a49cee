// Boost.Beast as a synchronous client: client MODE PORT SIZE COUNT.
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <string>

#include "../measure.h"

namespace beast = boost::beast;
namespace net = boost::asio;
namespace websocket = beast::websocket;
using tcp = net::ip::tcp;
using Socket = net::basic_stream_socket<tcp, net::io_context::executor_type>;
using Stream = websocket::stream<Socket>;

void ping(Stream& stream, measure& measure) {
    const std::string payload(measure.size, 'x');
    beast::flat_buffer buffer;
    for (std::size_t trip = 0; trip < measure.warm_up + measure.count; trip++) {
        if (trip == measure.warm_up) measure_start(&measure);
        const double sent = measure_now();
        stream.write(net::buffer(payload));
        stream.read(buffer);
        if (trip >= measure.warm_up) measure_sample(&measure, measure_now() - sent);
        measure_check("size of an echo", buffer.size(), measure.size);
        buffer.consume(buffer.size());
    }
    measure_stop(&measure);
}

void receive(Stream& stream, measure& measure) {
    const std::string order = std::to_string(measure.count) + " " + std::to_string(measure.size);
    beast::flat_buffer buffer;
    std::size_t received = 0;
    measure_start(&measure);
    stream.text(true);
    stream.write(net::buffer(order));
    for (stream.read(buffer); stream.got_binary(); stream.read(buffer)) {
        measure_check("size of a message", buffer.size(), measure.size);
        received++;
        buffer.consume(buffer.size());
    }
    measure_stop(&measure);
    measure_check("messages", received, measure.count);
}

void send(Stream& stream, measure& measure) {
    const std::string payload(measure.size, 'x');
    beast::flat_buffer buffer;
    measure_start(&measure);
    for (std::size_t sent = 0; sent < measure.count; sent++) stream.write(net::buffer(payload));
    stream.text(true);
    stream.write(net::buffer(std::string("end")));
    stream.read(buffer);
    measure_stop(&measure);
    measure_check("messages", std::stoull(beast::buffers_to_string(buffer.data())), measure.count);
}

int main(int argc, char** argv) try {
    measure measure = measure_parse(argc, argv);
    net::io_context context{1};
    Stream stream{context};
    stream.next_layer().connect({net::ip::make_address("127.0.0.1"), static_cast<unsigned short>(measure.port)});
    stream.next_layer().set_option(tcp::no_delay(true));
    stream.auto_fragment(false);
    // Masked or compressed messages are written in pieces of this size. With the default of 4 KiB, 1 MiB takes five times as long.
    stream.write_buffer_bytes(64 << 10);
    stream.read_message_max(64 << 20);
    stream.handshake("127.0.0.1", measure_path(&measure));
    stream.binary(true);
    if (measure_is(&measure, "ping")) ping(stream, measure);
    else if (measure_is(&measure, "receive")) receive(stream, measure);
    else send(stream, measure);
    measure_print(&measure);
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
