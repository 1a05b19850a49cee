// websocketpp as an echo server on one thread: server PORT. DEFLATE=1 accepts permessage-deflate.
#include <cstdlib>
#include <websocketpp/config/asio_no_tls.hpp>
#include <websocketpp/extensions/permessage_deflate/enabled.hpp>
#include <websocketpp/server.hpp>

/// The library's settings for Asio without TLS, and compression (zlib's default level and memory).
struct Deflating : websocketpp::config::asio {
    struct permessage_deflate_config : websocketpp::config::asio::permessage_deflate_config {};
    using permessage_deflate_type = websocketpp::extensions::permessage_deflate::enabled<permessage_deflate_config>;
};

template <typename Config>
void serve(int port) {
    using Server = websocketpp::server<Config>;
    Server server;
    server.clear_access_channels(websocketpp::log::alevel::all);
    server.clear_error_channels(websocketpp::log::elevel::all);
    server.init_asio();
    server.set_reuse_addr(true);
    server.set_listen_backlog(4096);
    server.set_max_message_size(64 << 20);
    server.set_socket_init_handler([](auto, auto& socket) {
        boost::system::error_code ignored;
        socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    });
    server.set_message_handler([&](websocketpp::connection_hdl connection, typename Server::message_ptr message) {
        websocketpp::lib::error_code ignored;
        server.send(connection, message, ignored); // the message itself, which saves a copy of its payload
    });
    server.listen(boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address("127.0.0.1"), port));
    server.start_accept();
    server.run();
}

int main(int, char** argv) {
    const int port = std::atoi(argv[1]);
    if (std::getenv("DEFLATE")) serve<Deflating>(port);
    else serve<websocketpp::config::asio>(port);
}
