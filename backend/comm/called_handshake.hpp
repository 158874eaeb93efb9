// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The called side of the handshake (handshake.hpp) as bytes in and bytes out. It knows no socket
// and never waits, so that whoever has many callers may serve them all.
#pragma once

#include "backend/comm/handshake.hpp"

namespace pleat {

// What a caller must want.
struct Wanted {
  Purpose purpose = Purpose::store;
  std::int32_t to = 0;  // the process called
  std::uint64_t epoch = 0;
};

class CalledHandshake {
 public:
  enum class Step : std::uint8_t {
    waits,  // for more bytes
    says,   // reply() is to be sent; then it waits for more
    shown,  // the caller knows the secret: reply(), its welcome, is to be sent, and that is all
    refused,
  };

  // Where the next bytes belong; empty once it is over. No byte more than the handshake's: what
  // follows is for whoever gets the connection.
  [[nodiscard]] std::span<std::byte> room();
  // `bytes` of room() have come.
  [[nodiscard]] Step took(std::size_t bytes, const Wanted&, const JobSecret&);
  [[nodiscard]] std::span<const std::byte> reply() const;

  // Whether the caller has sent a whole greeting.
  [[nodiscard]] bool has_greeted() const { return challenged_; }
  [[nodiscard]] int from() const { return hello_.from; }
  [[nodiscard]] Session session(const JobSecret& secret) const {
    return called_session(secret, hello_, challenge_.nonce);
  }

 private:
  [[nodiscard]] bool speaks_it() const;
  [[nodiscard]] bool is_wanted(const Wanted&) const;

  std::size_t received_ = 0;  // bytes of in_
  std::array<std::byte, sizeof(Hello) + sizeof(Proof)> in_{};
  Hello hello_;
  Challenge challenge_{};
  Proof welcome_{};
  bool challenged_ = false;
};

}  // namespace pleat
