// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The secret that the processes of a job share, and the tags on messages that are made from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pleat {

// What the processes of a job know and others do not: who does not know it cannot join.

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

// Tags on the messages of one direction of a connection: only who made the connection can make
// them, and each is for one place in the sequence. A message that was changed, repeated, left out
// or moved has a wrong tag.

using Tag = std::array<std::byte, 16>;

// A message is a header of known size, these, and a payload. The header's tag covers the header and
// the payload's tag, so that a size in the header is believed before the payload has come.
struct Tags {
  Tag header{}, payload{};
};

class MessageTags {
 public:
  MessageTags() = default;
  explicit MessageTags(const SecretKey& key) : key_(key) {}

  // The sender's: of the next message.
  [[nodiscard]] Tags make(std::span<const std::byte> header, std::span<const std::byte> payload);
  // The receiver's: of the next message, first its header, then its payload.
  [[nodiscard]] bool fits_header(std::span<const std::byte> header, const Tags&) const;
  [[nodiscard]] bool fits_payload(std::span<const std::byte> payload, const Tags&);

 private:
  // Poly1305 with two keys of its own for each message, from ChaCha20 with the message's number as
  // nonce: the construction of RFC 8439, without encryption.
  struct Keys {
    std::array<std::byte, 32> header, payload;
  };
  [[nodiscard]] Keys keys() const;

  SecretKey key_{};
  std::uint64_t messages_ = 0;  // so far
};

}  // namespace pleat
