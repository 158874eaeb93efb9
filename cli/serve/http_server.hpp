// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// HTTP on a port of this machine alone: a thread for each connection, requests of a bounded size,
// answers at once or line by line. What is asked and answered is server.hpp's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace pleat::cli {

struct HttpRequest {
  std::string method, path;  // without what follows '?'
  std::string host, token;   // the headers Host and X-Pleat-Token
  std::string body;
};

// Sends a line of an answer that comes in parts; false: nobody listens any more.
using SendLine = std::function<bool(const std::string&)>;

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  bool may_be_kept = false;                            // by the browser, for an hour
  std::function<void(const SendLine&)> in_parts = {};  // instead of a body
};

class HttpServer {
 public:
  // Binds 127.0.0.1; `port` 0: a free one. ConfigError (device_or_io) if the port is taken.
  // `headers` go with every answer.
  HttpServer(int port, std::map<std::string, std::string> headers);
  ~HttpServer();

  [[nodiscard]] int port() const;
  // Answers, several requests at a time, until `keep_on` says no, which it is asked several times a
  // second. An answer in parts is told so by its SendLine.
  void run(const std::function<HttpAnswer(const HttpRequest&)>& answer,
           const std::function<bool()>& keep_on);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pleat::cli
