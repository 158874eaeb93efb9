// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Questions to the store of a job and its answers, and both as they travel: a header, tags, the
// key's and the value's bytes. Lengths are 32 bits in this machine's order, as everything the job
// exchanges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/comm/job_secret.hpp"
#include "backend/comm/message_hub.hpp"

namespace pleat {

inline constexpr std::uint32_t kMaxStoreKey = 256, kMaxStoreValue = 4U << 20;

enum class StoreOp : std::uint32_t { hello = 'h', set = 's', get = 'g', fail = 'f', seal = 'e' };
enum class StoreStatus : std::uint32_t { ok = '+', taken = '=', failed = '-', timeout = 't' };

struct StoreQuestion {
  StoreOp op = StoreOp::hello;
  std::string key, value;  // the value of a get is how many milliseconds it waits
};
struct StoreAnswer {
  StoreStatus status = StoreStatus::ok;
  std::string value;
};

struct QuestionHeader {
  StoreOp op = StoreOp::hello;
  std::uint32_t key = 0, value = 0;  // bytes

  [[nodiscard]] std::optional<std::uint64_t> payload_bytes() const {
    if (key > kMaxStoreKey || value > kMaxStoreValue) return std::nullopt;
    return std::uint64_t{key} + value;
  }
};
struct AnswerHeader {
  StoreStatus status = StoreStatus::ok;
  std::uint32_t value = 0;  // bytes

  [[nodiscard]] std::optional<std::uint64_t> payload_bytes() const {
    return value <= kMaxStoreValue ? std::optional<std::uint64_t>(value) : std::nullopt;
  }
};

[[nodiscard]] StoreQuestion read_question(const QuestionHeader&, const Message& payload);
[[nodiscard]] StoreAnswer read_answer(const AnswerHeader&, const Message& payload);
// The whole message; the tags are those of its place in the sequence.
[[nodiscard]] std::string to_wire(const StoreQuestion&, MessageTags&);
[[nodiscard]] std::string to_wire(const StoreAnswer&, MessageTags&);

}  // namespace pleat
