// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace pleat {
namespace {

std::string text_of(const XXH128_hash_t& hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

struct Digest::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr || XXH3_128bits_reset(xxh) != XXH_OK) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(xxh); }
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;

void Digest::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::string Digest::hex() const { return text_of(XXH3_128bits_digest(state_->xxh)); }

std::string digest_of(std::span<const std::byte> bytes) {
  return text_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::uint64_t short_digest_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace pleat
