// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The web server of `pleat serve`: one page and its questions, for this machine's user alone. It
// listens on loopback; questions must carry the token of the page's address, in a header that a
// page from elsewhere cannot send; requests for another host's name are refused (DNS rebinding).
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace pleat::cli {

class WhatIfServer {
 public:
  // Binds 127.0.0.1; `port` 0: a free one. ConfigError (device_or_io) if the port is taken.
  explicit WhatIfServer(int port);
  ~WhatIfServer();

  [[nodiscard]] std::string address() const;  // "http://127.0.0.1:8642/?token=…"
  // Answers until `keep_on` says no, which it is asked several times a second; searches end then.
  void run(const std::function<bool()>& keep_on);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pleat::cli
