// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/called_handshake.hpp"

#include <algorithm>
#include <cstring>

namespace pleat {

std::span<std::byte> CalledHandshake::room() {
  const std::size_t wanted = challenged_ ? in_.size() : sizeof(Hello);
  return std::span(in_).subspan(received_, wanted - received_);
}

// Who speaks another language is not waited for.
bool CalledHandshake::speaks_it() const {
  const Hello expected;
  return std::memcmp(in_.data(), &expected.magic, std::min(received_, sizeof expected.magic)) == 0;
}

bool CalledHandshake::is_wanted(const Wanted& w) const {
  return hello_.purpose == w.purpose && hello_.to == w.to && hello_.from >= 0 &&
         hello_.epoch == w.epoch;
}

CalledHandshake::Step CalledHandshake::took(std::size_t bytes, const Wanted& wanted,
                                            const JobSecret& secret) {
  received_ += bytes;
  if (!speaks_it()) return Step::refused;
  if (!room().empty()) return Step::waits;
  if (!challenged_) {
    std::memcpy(&hello_, in_.data(), sizeof hello_);
    if (!is_wanted(wanted)) return Step::refused;
    challenge_ = make_challenge(secret, hello_);
    challenged_ = true;
    return Step::says;
  }
  Proof proof;
  std::memcpy(proof.data(), in_.data() + sizeof(Hello), sizeof proof);
  if (!is_callers_proof(secret, hello_, challenge_.nonce, proof)) return Step::refused;
  welcome_ = make_welcome(secret, hello_, challenge_.nonce);
  return Step::shown;
}

std::span<const std::byte> CalledHandshake::reply() const {
  return received_ == in_.size() ? std::as_bytes(std::span(welcome_))
                                 : std::as_bytes(std::span(&challenge_, 1));
}

}  // namespace pleat
