// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/serve/server.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sodium.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "cli/report/html/page.hpp"
#include "cli/serve/serve_assets.hpp"
#include "cli/serve/what_if.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"

namespace pleat::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 1 << 20;  // of a question
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' "
    // Plotly puts its rules into a style element that is empty at first: the digest of nothing.
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; img-src data: 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string fresh_token() {
  std::array<unsigned char, 16> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::string text;
  for (const unsigned char b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

// {"words": ["--model", …]}. ConfigError says what is wrong.
Words words_of(const std::string& body) {
  const JsonValue question = parse_json(body, "question");
  const JsonValue* list = question.find("words");
  Words words;
  if (list == nullptr || !list->is_array()) {
    throw_config_error(ExitCode::bad_request, "", "words", "must be a list of strings");
  }
  for (const JsonValue& word : list->items()) {
    const std::string* text = word.as_string();
    if (text == nullptr) {
      throw_config_error(ExitCode::bad_request, "", "words", "must be a list of strings");
    }
    words.push_back(*text);
  }
  return words;
}

JsonValue problem_json(const std::string& message, int exit_code) {
  return JsonValue::object().set("problem", message).set("exit_code", exit_code);
}

// The answer, or what a user would be told.
template <class Answer>
JsonValue answered(Answer&& answer) {
  try {
    return answer();
  } catch (const ConfigError& e) {
    return problem_json(e.what(), static_cast<int>(e.exit_code()));
  } catch (const std::bad_alloc&) {
    return problem_json("out of memory", static_cast<int>(ExitCode::device_or_io));
  } catch (const std::exception& e) {
    return problem_json(e.what(), static_cast<int>(ExitCode::device_or_io));
  }
}

void send(httplib::Response& out, const JsonValue& json) {
  if (json.find("problem") != nullptr) out.status = 422;
  out.set_content(json.dump(0) + "\n", "application/json");
}

}  // namespace

struct WhatIfServer::Parts {
  httplib::Server http;
  std::string token = fresh_token();
  int port = 0;
  std::atomic<bool> ends = false;
  std::atomic<int> newest_search = 0;

  // Whether a request is of this machine's user: 403 where it is not.
  bool trusted(const httplib::Request& in, httplib::Response& out) const {
    if (same(in.get_header_value("X-Pleat-Token"), token)) return true;
    out.status = 403;
    send_text(out, "The address that `pleat serve` printed has a token; this request has none.\n");
    return false;
  }
  static void send_text(httplib::Response& out, const char* text) {
    out.set_content(text, "text/plain; charset=utf-8");
  }

  void set_up();
  void answer(const char* path, JsonValue (*question)(const Words&));
  void search(const Words&, httplib::DataSink&);
};

void WhatIfServer::Parts::answer(const char* path, JsonValue (*question)(const Words&)) {
  http.Post(path, [this, question](const httplib::Request& in, httplib::Response& out) {
    if (!trusted(in, out)) return;
    send(out, answered([&] { return question(words_of(in.body)); }));
  });
}

// A line of JSON at each sign of progress, the answer last. It ends early when the browser goes
// away, asks for another one, or the server ends.
void WhatIfServer::Parts::search(const Words& words, httplib::DataSink& sink) {
  const int mine = ++newest_search;
  const auto write = [&](const JsonValue& json) {
    const std::string line = json.dump(0) + "\n";
    return sink.write(line.data(), line.size());
  };
  std::atomic<bool> gone = false;
  SearchHooks hooks;
  hooks.keep_on = [&] { return !gone && !ends && newest_search == mine; };
  hooks.patience = 1;
  auto last = Clock::now();
  hooks.show = [&](const SearchProgress& p) {
    if (Clock::now() - last < std::chrono::milliseconds(200)) return;
    last = Clock::now();
    JsonValue line = JsonValue::object();
    line.set("priced", p.priced).set("seconds", p.seconds);
    if (p.best) line.set("best", format_seconds(*p.best));
    if (!write(line)) gone = true;
  };
  write(answered([&] { return searched_what_if(words, hooks); }));
}

void WhatIfServer::Parts::set_up() {
  http.set_payload_max_length(kMostBytes);
  // Not the library's SO_REUSEPORT, with which two servers would share a port.
  http.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  http.set_default_headers({{"Content-Security-Policy", kPolicy},
                            {"X-Content-Type-Options", "nosniff"},
                            {"Referrer-Policy", "no-referrer"},
                            {"Cache-Control", "no-store"}});
  http.set_pre_routing_handler([this](const httplib::Request& in, httplib::Response& out) {
    const std::string host = in.get_header_value("Host");
    if (host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port)) {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    out.status = 403;
    send_text(out, "This server is for 127.0.0.1 only.\n");
    return httplib::Server::HandlerResponse::Handled;
  });
  http.Get("/", [](const httplib::Request&, httplib::Response& out) {
    out.set_content(std::string(kServePage), "text/html; charset=utf-8");
  });
  http.Get("/serve.js", [](const httplib::Request&, httplib::Response& out) {
    out.set_content(std::string(kServeScript), "text/javascript; charset=utf-8");
  });
  http.Get("/serve.css", [](const httplib::Request&, httplib::Response& out) {
    out.set_content(std::string(kServeStyle), "text/css; charset=utf-8");
  });
  http.Get("/plotly.js", [](const httplib::Request&, httplib::Response& out) {
    static const ChartLibrary library = load_chart_library();
    if (library.script.empty()) out.status = 404;
    out.set_content(library.script.empty() ? library.problem : library.script,
                    library.script.empty() ? "text/plain" : "text/javascript; charset=utf-8");
    out.set_header("Cache-Control", "max-age=3600");
  });
  http.Get("/api/choices", [this](const httplib::Request& in, httplib::Response& out) {
    if (trusted(in, out)) send(out, answered([] { return what_if_choices(); }));
  });
  answer("/api/predict", predicted_what_if);
  answer("/api/details", detailed_what_if);
  http.Post("/api/plan", [this](const httplib::Request& in, httplib::Response& out) {
    if (!trusted(in, out)) return;
    const JsonValue wrong = answered([&] {
      static_cast<void>(words_of(in.body));
      return JsonValue();
    });
    if (!wrong.is_null()) return send(out, wrong);
    out.set_chunked_content_provider(
        "application/x-ndjson",
        [this, words = words_of(in.body)](std::size_t, httplib::DataSink& sink) {
          search(words, sink);
          sink.done();
          return true;
        });
  });
}

WhatIfServer::WhatIfServer(int port) : parts_(std::make_unique<Parts>()) {
  if (sodium_init() < 0) throw_config_error(ExitCode::device_or_io, "", "", "no random numbers");
  parts_->token = fresh_token();
  parts_->set_up();
  const bool bound = port == 0 ? (parts_->port = parts_->http.bind_to_any_port("127.0.0.1")) > 0
                               : parts_->http.bind_to_port("127.0.0.1", port);
  if (!bound) {
    throw_config_error(ExitCode::device_or_io, "--port", "",
                       fmt::format("port {} of 127.0.0.1 cannot be used", port),
                       "another one, or 0 for a free one");
  }
  if (port != 0) parts_->port = port;
}

WhatIfServer::~WhatIfServer() = default;

std::string WhatIfServer::address() const {
  return fmt::format("http://127.0.0.1:{}/?token={}", parts_->port, parts_->token);
}

void WhatIfServer::run(const std::function<bool()>& keep_on) {
  std::jthread answering([&] { parts_->http.listen_after_bind(); });
  while (keep_on()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  parts_->ends = true;
  parts_->http.stop();
}

}  // namespace pleat::cli
