// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/serve/http_server.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <thread>
#include <utility>

#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = net::ip::tcp;

constexpr std::uint64_t kMostBytes = 1 << 20;  // of a question
constexpr std::uint64_t kMostDrained = 64 << 20;  // bytes of a refused question
constexpr int kMostConnections = 32;
constexpr int kPatience = 60;  // seconds for a request to come, or an answer to be taken
constexpr int kPatienceAtTheEnd = 2;

void be_patient(Tcp::socket& socket, int seconds) {
  const timeval patience{.tv_sec = seconds, .tv_usec = 0};
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

// Reads and forgets what a client still sends of a question that was refused. To close with bytes
// unread resets the connection, and the client may lose the answer.
void drain(Tcp::socket& socket) {
  be_patient(socket, kPatienceAtTheEnd);
  error_code wrong;
  socket.shutdown(Tcp::socket::shutdown_send, wrong);
  std::array<char, 1 << 16> forgotten;
  for (std::uint64_t bytes = 0; !wrong && bytes < kMostDrained;) {
    bytes += socket.read_some(net::buffer(forgotten), wrong);
  }
}

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpRequest request_of(const http::request<http::string_body>& in) {
  const std::string target = text_of(in.target());
  return {.method = text_of(in.method_string()),
          .path = target.substr(0, target.find('?')),
          .host = text_of(in[http::field::host]),
          .token = text_of(in["X-Pleat-Token"]),
          .body = in.body()};
}

}  // namespace

struct HttpServer::Parts {
  struct Connection {
    Tcp::socket socket;
    std::atomic<bool> done = false;
    std::jthread thread;
    explicit Connection(net::io_context& io) : socket(io) {}
  };

  net::io_context io;
  Tcp::acceptor acceptor{io};
  std::map<std::string, std::string> headers;
  std::list<Connection> connections;
  std::atomic<bool> ends = false;

  template <class Message>
  void set_headers(Message& out, const HttpAnswer& answer) const {
    for (const auto& [name, value] : headers) out.set(name, value);
    out.set(http::field::content_type, answer.type);
    out.set(http::field::cache_control, answer.may_be_kept ? "max-age=3600" : "no-store");
  }

  void send_parts(Tcp::socket& socket, const HttpAnswer& answer) const {
    http::response<http::empty_body> head{http::status::ok, 11};
    set_headers(head, answer);
    head.chunked(true);
    http::response_serializer<http::empty_body> serializer{head};
    error_code wrong;
    http::write_header(socket, serializer, wrong);
    answer.in_parts([&](const std::string& line) {
      if (!wrong) net::write(socket, http::make_chunk(net::buffer(line)), wrong);
      return !wrong && !ends;
    });
    if (!wrong) net::write(socket, http::make_chunk_last(), wrong);
  }

  void send_whole(Tcp::socket& socket, const HttpAnswer& answer, bool keep_alive,
                  error_code& wrong) const {
    http::response<http::string_body> out{static_cast<http::status>(answer.status), 11};
    set_headers(out, answer);
    out.keep_alive(keep_alive);
    out.body() = answer.body;
    out.prepare_payload();
    http::write(socket, out, wrong);
  }

  // Requests of one connection until it ends.
  void serve(Tcp::socket& socket,
             const std::function<HttpAnswer(const HttpRequest&)>& answer) const {
    boost::beast::flat_buffer buffer;
    error_code wrong;
    while (!wrong && !ends) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(kMostBytes);
      http::read(socket, buffer, parser, wrong);
      if (wrong == http::error::body_limit) {
        error_code ignored;
        send_whole(socket, {.status = 413, .body = "too long\n"}, false, ignored);
        return drain(socket);
      }
      if (wrong) return;
      const bool keep_alive = parser.get().keep_alive();
      const HttpAnswer out = answer(request_of(parser.get()));
      if (out.in_parts)
        send_parts(socket, out);
      else
        send_whole(socket, out, keep_alive, wrong);
      if (!keep_alive) return;
    }
  }

  // Those that are done make room.
  void accept(const std::function<HttpAnswer(const HttpRequest&)>& answer) {
    connections.remove_if([](const Connection& c) { return c.done.load(); });
    if (connections.size() >= kMostConnections) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    Connection& made = connections.emplace_back(io);
    error_code wrong;
    acceptor.accept(made.socket, wrong);
    if (wrong) return connections.pop_back();
    be_patient(made.socket, kPatience);
    made.thread = std::jthread([this, &made, &answer] {
      serve(made.socket, answer);
      error_code ignored;
      made.socket.shutdown(Tcp::socket::shutdown_both, ignored);
      made.done = true;
    });
  }
};

HttpServer::HttpServer(int port, std::map<std::string, std::string> headers)
    : parts_(std::make_unique<Parts>()) {
  parts_->headers = std::move(headers);
  const Tcp::endpoint here(net::ip::address_v4::loopback(), static_cast<std::uint16_t>(port));
  error_code wrong;
  parts_->acceptor.open(here.protocol(), wrong);
  if (!wrong) parts_->acceptor.set_option(net::socket_base::reuse_address(true), wrong);
  if (!wrong) parts_->acceptor.bind(here, wrong);
  if (!wrong) parts_->acceptor.listen(kMostConnections, wrong);
  if (wrong) {
    throw_config_error(ExitCode::device_or_io, "--port", "",
                       fmt::format("port {} of 127.0.0.1: {}", port, wrong.message()),
                       "another one, or 0 for a free one");
  }
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

void HttpServer::run(const std::function<HttpAnswer(const HttpRequest&)>& answer,
                     const std::function<bool()>& keep_on) {
  while (keep_on()) {
    pollfd waiting{.fd = parts_->acceptor.native_handle(), .events = POLLIN, .revents = 0};
    if (poll(&waiting, 1, 100) > 0) parts_->accept(answer);
  }
  parts_->ends = true;
  for (Parts::Connection& c : parts_->connections) {
    ::shutdown(c.socket.native_handle(), SHUT_RDWR);
  }
  parts_->connections.clear();  // joins
}

}  // namespace pleat::cli
