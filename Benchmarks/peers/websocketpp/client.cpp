// websocketpp as a client: client MODE PORT SIZE COUNT.
//
// It takes each mask from std::random_device, which is most of the cost of a small send: 2 to 25 µs, by processor.
#include <string>
#include <websocketpp/client.hpp>
#include <websocketpp/config/asio_no_tls_client.hpp>

#include "../measure.h"

using Base = websocketpp::client<websocketpp::config::asio_client>;
using websocketpp::connection_hdl;
namespace opcode = websocketpp::frame::opcode;

class Client {
public:
    explicit Client(measure measured) : measured(measured), payload(measured.size, 'x') {
        client.clear_access_channels(websocketpp::log::alevel::all);
        client.clear_error_channels(websocketpp::log::elevel::all);
        client.init_asio();
        client.set_max_message_size(64 << 20);
        client.set_open_handler([this](connection_hdl handle) { opened(handle); });
        client.set_message_handler([this](connection_hdl, Base::message_ptr message) { received(message); });
        client.set_fail_handler([](connection_hdl) { measure_fail("connections", 0, 1); });
        client.set_close_handler([this](connection_hdl) { if (!finished) measure_fail("answers", 0, 1); });
    }

    void run() {
        websocketpp::lib::error_code error;
        const std::string host = "ws://127.0.0.1:" + std::to_string(measured.port);
        connection = client.get_connection(host + measure_path(&measured), error);
        client.connect(connection);
        client.run();
        measure_print(&measured);
    }

private:
    void opened(connection_hdl) {
        connection->get_raw_socket().set_option(boost::asio::ip::tcp::no_delay(true));
        if (measure_is(&measured, "ping")) return ping();
        measure_start(&measured);
        if (measure_is(&measured, "send")) return pump();
        send(std::to_string(measured.count) + " " + std::to_string(measured.size), opcode::text);
    }

    void received(Base::message_ptr message) {
        const std::string& bytes = message->get_payload();
        if (message->get_opcode() == opcode::binary) {
            measure_check("size of a message", bytes.size(), measured.size);
            if (measure_is(&measured, "ping")) pong();
            else counted++;
        } else {
            finish();
            measure_check("messages", measure_is(&measured, "send") ? std::stoull(bytes) : counted, measured.count);
        }
    }

    void ping() {
        if (trips == measured.warm_up) measure_start(&measured);
        sent = measure_now();
        send(payload, opcode::binary);
    }

    void pong() {
        if (trips >= measured.warm_up) measure_sample(&measured, measure_now() - sent);
        if (++trips == measured.warm_up + measured.count) finish();
        else ping();
    }

    /// Sends until 4 MiB are waiting, lets the event loop write, and continues.
    void pump() {
        while (counted < measured.count && connection->get_buffered_amount() < 4 << 20) {
            send(payload, opcode::binary);
            counted++;
        }
        if (counted == measured.count) send("end", opcode::text);
        else client.get_io_service().post([this] { pump(); });
    }

    void send(const std::string& bytes, opcode::value kind) {
        if (connection->send(bytes, kind)) measure_fail("sends", 0, 1);
    }

    void finish() {
        measure_stop(&measured);
        finished = true;
        client.stop();
    }

    measure measured;
    const std::string payload;
    Base client;
    Base::connection_ptr connection;
    double sent = 0;
    std::size_t trips = 0, counted = 0;
    bool finished = false;
};

int main(int argc, char** argv) { Client(measure_parse(argc, argv)).run(); }
