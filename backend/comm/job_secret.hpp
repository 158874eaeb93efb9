// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the processes of a job know and others do not: who does not know it cannot join.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace pleat {

using SecretKey = std::array<std::byte, 32>;

class JobSecret {
 public:
  // None: everyone knows it, so only this host's loopback is served.
  JobSecret() : JobSecret(std::string()) {}
  // Any text; the same text is the same secret.
  explicit JobSecret(const std::string& text);

  [[nodiscard]] bool is_known_to_all() const { return known_to_all_; }
  // BLAKE2b of the text. Never printed, never sent.
  [[nodiscard]] const SecretKey& key() const { return key_; }

 private:
  bool known_to_all_;
  SecretKey key_;
};

// A new text for a job: 64 hexadecimal digits of the system's random numbers.
[[nodiscard]] std::string new_secret_text();

// Throws std::runtime_error where libsodium cannot start. Every function that uses libsodium calls
// this first.
void start_sodium();

}  // namespace pleat
