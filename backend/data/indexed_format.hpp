// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's indexed dataset: PREFIX.bin holds tokens, PREFIX.idx where each sequence begins.
// Little-endian throughout. The index:
//   9 bytes "MMIDIDX\0\0", u64 version 1, u8 type of the tokens, u64 S, u64 D,
//   i32 length of each of S sequences, i64 byte offset of each in PREFIX.bin,
//   i64 number of the sequence at which each document begins, D of them, the last one S;
//   multimodal datasets have S more bytes.
// (NVIDIA/Megatron-LM d98e8a6, megatron/core/datasets/indexed_dataset.py.)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pleat {

inline constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
inline constexpr std::uint64_t kIndexVersion = 1;
inline constexpr std::size_t kIndexHeaderBytes = 34;

enum class TokenType : std::uint8_t {
  u8 = 1,
  i8 = 2,
  i16 = 3,
  i32 = 4,
  i64 = 5,
  f64 = 6,
  f32 = 7,
  u16 = 8
};

[[nodiscard]] constexpr std::size_t bytes_of(TokenType type) {
  constexpr std::array<std::size_t, 9> kBytes = {0, 1, 1, 2, 4, 8, 8, 4, 2};
  return kBytes[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::string_view name_of(TokenType type) {
  constexpr std::array<std::string_view, 9> kNames = {
      "", "uint8", "int8", "int16", "int32", "int64", "float64", "float32", "uint16"};
  return kNames[static_cast<std::size_t>(type)];
}
// Megatron-LM's choice: 16 bits below 65,500 tokens.
[[nodiscard]] constexpr TokenType type_for(std::int64_t vocab_size) {
  return vocab_size < 65500 ? TokenType::u16 : TokenType::i32;
}

}  // namespace pleat
