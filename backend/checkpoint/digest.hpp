// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A digest that finds damaged bytes: XXH3 with 128 bits (libxxhash). It does not protect against
// someone who changes bytes on purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pleat {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void add(std::span<const std::byte>);
  [[nodiscard]] std::string hex() const;  // 32 digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string digest_of(std::span<const std::byte>);
[[nodiscard]] std::uint64_t short_digest_of(std::span<const std::byte>);  // XXH3, 64 bits

}  // namespace pleat
