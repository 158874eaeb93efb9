// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat serve`: one page and its questions, for this machine's user alone. Questions must carry
// the token of the page's address, in a header that a page from elsewhere cannot send; requests for
// another host's name are refused (DNS rebinding).
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "cli/serve/http_server.hpp"
#include "cli/serve/what_if.hpp"

namespace pleat::cli {

class WhatIfServer {
 public:
  explicit WhatIfServer(int port);  // HttpServer's

  [[nodiscard]] std::string address() const;  // "http://127.0.0.1:8642/?token=…"
  // Until `keep_on` says no; searches end then, too.
  void run(const std::function<bool()>& keep_on);

 private:
  [[nodiscard]] HttpAnswer answer(const HttpRequest&);
  void search(const Words&, const SendLine&);

  HttpServer http_;
  std::string token_;
  std::atomic<int> newest_search_ = 0;  // an earlier one ends
};

}  // namespace pleat::cli
