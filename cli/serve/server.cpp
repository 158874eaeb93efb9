// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/serve/server.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "cli/report/html/page.hpp"
#include "cli/serve/serve_assets.hpp"
#include "cli/serve/what_if.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"

namespace pleat::cli {
namespace {

using Clock = std::chrono::steady_clock;

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

HttpAnswer as_answer(const JsonValue& json) {
  return {.status = json.find("problem") != nullptr ? 422 : 200,
          .type = "application/json",
          .body = json.dump(0) + "\n"};
}

// What everybody may have: it tells nothing.
std::optional<HttpAnswer> asset(const std::string& path) {
  if (path == "/")
    return HttpAnswer{.type = "text/html; charset=utf-8", .body = std::string(kServePage)};
  if (path == "/serve.js") {
    return HttpAnswer{.type = "text/javascript; charset=utf-8", .body = std::string(kServeScript)};
  }
  if (path == "/serve.css") {
    return HttpAnswer{.type = "text/css; charset=utf-8", .body = std::string(kServeStyle)};
  }
  if (path != "/plotly.js") return std::nullopt;
  static const ChartLibrary library = load_chart_library();
  if (library.script.empty()) return HttpAnswer{.status = 404, .body = library.problem + "\n"};
  return HttpAnswer{
      .type = "text/javascript; charset=utf-8", .body = library.script, .may_be_kept = true};
}

}  // namespace

WhatIfServer::WhatIfServer(int port)
    : http_(port, {{"Content-Security-Policy", kPolicy},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"}}) {
  if (sodium_init() < 0) throw_config_error(ExitCode::device_or_io, "", "", "no random numbers");
  token_ = fresh_token();
}

std::string WhatIfServer::address() const {
  return fmt::format("http://127.0.0.1:{}/?token={}", http_.port(), token_);
}

void WhatIfServer::run(const std::function<bool()>& keep_on) {
  http_.run([this](const HttpRequest& in) { return answer(in); }, keep_on);
}

HttpAnswer WhatIfServer::answer(const HttpRequest& in) {
  if (in.host != fmt::format("127.0.0.1:{}", http_.port()) &&
      in.host != fmt::format("localhost:{}", http_.port())) {
    return {.status = 403, .body = "This server is for 127.0.0.1 only.\n"};
  }
  const bool asks = in.method == "POST";
  if (in.method == "GET") {
    if (const auto found = asset(in.path)) return *found;
  }
  JsonValue (*question)(const Words&) = in.path == "/api/predict"   ? predicted_what_if
                                        : in.path == "/api/details" ? detailed_what_if
                                                                    : nullptr;
  const bool known = asks ? question != nullptr || in.path == "/api/plan"
                          : in.method == "GET" && in.path == "/api/choices";
  if (!known) return {.status = 404, .body = "There is nothing here.\n"};
  if (!same(in.token, token_)) {
    return {.status = 403,
            .body = "The address that `pleat serve` printed has a token; this request has none.\n"};
  }
  if (!asks) return as_answer(answered([] { return what_if_choices(); }));
  if (question != nullptr) return as_answer(answered([&] { return question(words_of(in.body)); }));
  const JsonValue wrong = answered([&] {
    static_cast<void>(words_of(in.body));
    return JsonValue();
  });
  if (!wrong.is_null()) return as_answer(wrong);
  return {
      .type = "application/x-ndjson",
      .in_parts = [this, words = words_of(in.body)](const SendLine& send) { search(words, send); }};
}

// A line of JSON at each sign of progress, the answer last. It ends early when the browser goes
// away or asks for another one, or the server ends.
void WhatIfServer::search(const Words& words, const SendLine& send) {
  const int mine = ++newest_search_;
  std::atomic<bool> gone = false;
  SearchHooks hooks;
  hooks.keep_on = [&] { return !gone && newest_search_ == mine; };
  hooks.patience = 1;
  auto last = Clock::now();
  hooks.show = [&](const SearchProgress& p) {
    if (Clock::now() - last < std::chrono::milliseconds(200)) return;
    last = Clock::now();
    JsonValue line = JsonValue::object();
    line.set("priced", p.priced).set("seconds", p.seconds);
    if (p.best) line.set("best", format_seconds(*p.best));
    if (!send(line.dump(0) + "\n")) gone = true;
  };
  send(answered([&] { return searched_what_if(words, hooks); }).dump(0) + "\n");
}

}  // namespace pleat::cli
