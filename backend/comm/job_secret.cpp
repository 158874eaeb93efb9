// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/job_secret.hpp"

#include <sodium.h>

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

}  // namespace pleat
