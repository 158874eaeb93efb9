// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which memory choices save more than others, and in which order a search tries them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/space/memory_choice.hpp"

namespace pleat {

class MemoryTree {
 public:
  explicit MemoryTree(const std::vector<MemoryChoice>&);

  // The choices to try when `choice` does not fit: its children in a tree whose root is the first
  // choice. A child is never faster than its parent, because it recomputes more, or offloads what
  // the parent keeps. Of two choices that both offload, that holds if they recompute the same and
  // one sends all that the other does: more recompute means less to send.
  [[nodiscard]] const std::vector<std::int16_t>& below(int choice) const;
  // The choice itself and all below it.
  [[nodiscard]] std::int64_t plans_below(int choice) const;

  // Why the choice `other` is not listed beside the listed plan of the same mesh that is as fast:
  // "variant" if the choices are equal, "over-saving" if `other` saves all that the listed one does
  // and more; else null.
  [[nodiscard]] const char* supersedes(int listed, int other) const;

 private:
  // A choice with its sets as bits, which are compared often.
  struct Bits {
    explicit Bits(const MemoryChoice&);
    MemoryChoice choice;
    std::uint32_t modules = 0;  // recomputed (parts_of)
    std::uint32_t offload = 0;  // by Offload
    bool plain;                 // saves nothing on the way
  };
  static bool includes(std::uint32_t more, std::uint32_t less) { return (more & less) == less; }
  static bool same_recompute(const Bits&, const Bits&);
  static bool recomputes_less(const Bits&, const Bits&);
  static bool same(const Bits&, const Bits&);
  static bool gives_up_less(const Bits&, const Bits&);
  static bool may_follow(const Bits& parent, const Bits& child);

  std::vector<Bits> bits_;
  std::vector<std::vector<std::int16_t>> below_;
  std::vector<std::int64_t> plans_;
};

}  // namespace pleat
