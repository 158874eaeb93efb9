// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the kernels of one set share: the stream, scratch memory for the time of a call, and tables
// that outlive calls. Calls of one stream run one after the other, so they share its scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/spec/rope.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kept_blocks.hpp"

namespace pleat::cuda {

// Cosines and sines [positions, dim / 2] of one rotary rule, float2.
struct RopeTable {
  RopeScaling scaling;
  double theta = 0;
  std::int64_t dim = 0, positions = 0;
  DeviceBuffer values{0};
};

class Resources {
 public:
  Resources(const CudaDevice& device, std::size_t scratch_bytes);

  [[nodiscard]] const CudaDevice& device() const { return device_; }
  [[nodiscard]] StreamRef stream() const { return device_.stream(); }
  [[nodiscard]] int multiprocessors() const { return device_.multiprocessors(); }
  [[nodiscard]] bool capturing() const;  // into a CUDA graph: nothing may be allocated

  // Changes when memory was released that a captured graph may use.
  [[nodiscard]] std::uint64_t age() const { return age_; }
  void grow_older() { ++age_; }

  // Scratch memory of at least `bytes`, for kernels of the stream in use. If it has to grow, that
  // waits for the stream, and throws DeviceError while a graph is captured.
  [[nodiscard]] std::byte* scratch(std::size_t bytes) { return grow(&OfStream::scratch, bytes); }
  // The same for copies of operands that are needed while a product uses the scratch memory.
  [[nodiscard]] std::byte* copies(std::size_t bytes) { return grow(&OfStream::copies, bytes); }
  // The same for copies of attention's operands, which are needed while a call uses both.
  [[nodiscard]] std::byte* narrow(std::size_t bytes) { return grow(&OfStream::narrow, bytes); }
  // Memory that lives as long as a tensor, for kernels of the first stream.
  [[nodiscard]] KeptBlocks& kept_blocks() { return *kept_blocks_; }
  [[nodiscard]] std::vector<RopeTable>& rope_tables() { return rope_tables_; }

 private:
  struct OfStream {
    StreamBuffer scratch, copies, narrow;
  };
  [[nodiscard]] std::byte* grow(StreamBuffer OfStream::*which, std::size_t bytes);

  const CudaDevice& device_;
  std::vector<OfStream> of_stream_;  // by number
  std::shared_ptr<KeptBlocks> kept_blocks_ = std::make_shared<KeptBlocks>();
  std::uint64_t age_ = 0;
  std::vector<RopeTable> rope_tables_;
};

// Pieces of the scratch memory for one call, each 256-byte aligned.
class Scratch {
 public:
  template <class T>
  [[nodiscard]] static std::size_t bytes(std::int64_t elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 255) / 256 * 256;
  }
  Scratch(Resources& resources, std::size_t all) : next_(resources.scratch(all)), left_(all) {}
  Scratch(std::byte* from, std::size_t all) : next_(from), left_(all) {}

  template <class T>
  [[nodiscard]] T* take(std::int64_t elements) {
    return static_cast<T*>(take_bytes(bytes<T>(elements)));
  }
  [[nodiscard]] void* take_bytes(std::size_t bytes);

 private:
  std::byte* next_;
  std::size_t left_;
};

}  // namespace pleat::cuda
