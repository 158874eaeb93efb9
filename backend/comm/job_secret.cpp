// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/job_secret.hpp"

#include <sodium.h>

#include <cstring>
#include <stdexcept>
#include <string_view>

namespace pleat {

void start_sodium() {
  static const int started = sodium_init();
  if (started < 0) throw std::runtime_error("libsodium cannot start");
}

JobSecret::JobSecret(const std::string& text) : known_to_all_(text.empty()) {
  start_sodium();
  // The key of the hash keeps this use of the text apart from every other.
  constexpr std::string_view kUse = "pleat: who may join a job, 1";
  crypto_generichash(reinterpret_cast<unsigned char*>(key_.data()), key_.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     reinterpret_cast<const unsigned char*>(kUse.data()), kUse.size());
}

std::string new_secret_text() {
  start_sodium();
  std::array<unsigned char, 32> random{};
  randombytes_buf(random.data(), random.size());
  std::string text(2 * random.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), random.data(), random.size());
  text.pop_back();
  return text;
}

namespace {

const unsigned char* unsigned_bytes(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* unsigned_bytes(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

Tag tag_of(std::span<const std::byte> first, std::span<const std::byte> second,
           const std::array<std::byte, 32>& key) {
  static_assert(sizeof(Tag) == crypto_onetimeauth_BYTES);
  crypto_onetimeauth_state state;
  crypto_onetimeauth_init(&state, unsigned_bytes(key.data()));
  crypto_onetimeauth_update(&state, unsigned_bytes(first.data()), first.size());
  crypto_onetimeauth_update(&state, unsigned_bytes(second.data()), second.size());
  Tag tag;
  crypto_onetimeauth_final(&state, unsigned_bytes(tag.data()));
  return tag;
}

bool equal(const Tag& a, const Tag& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace

MessageTags::Keys MessageTags::keys() const {
  static_assert(sizeof(Keys) == 64);
  std::array<unsigned char, crypto_stream_chacha20_ietf_NONCEBYTES> nonce{};
  std::memcpy(nonce.data(), &messages_, sizeof messages_);
  Keys keys;
  crypto_stream_chacha20_ietf(unsigned_bytes(keys.header.data()), sizeof keys, nonce.data(),
                              unsigned_bytes(key_.data()));
  return keys;
}

Tags MessageTags::make(std::span<const std::byte> header, std::span<const std::byte> payload) {
  const Keys k = keys();
  Tags tags;
  tags.payload = tag_of(payload, {}, k.payload);
  tags.header = tag_of(header, tags.payload, k.header);
  ++messages_;
  return tags;
}

bool MessageTags::fits_header(std::span<const std::byte> header, const Tags& tags) const {
  return equal(tag_of(header, tags.payload, keys().header), tags.header);
}

bool MessageTags::fits_payload(std::span<const std::byte> payload, const Tags& tags) {
  const bool fits = equal(tag_of(payload, {}, keys().payload), tags.payload);
  ++messages_;
  return fits;
}

}  // namespace pleat
