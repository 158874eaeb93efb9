// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Ranks with a checking device each and the stand-in for NCCL between them.
#pragma once

#include <cmath>
#include <functional>

#include "tests/backend/comm_jobs.hpp"
#include "tests/backend/device/checking_device.hpp"

namespace pleat::test {

// A vector in a device's memory.
template <class T>
class There {
 public:
  There(Device& device, const std::vector<T>& values) : device_(device), size_(values.size()) {
    data_ = device.memory().allocate(bytes());
    device.copy(data_, values.data(), bytes());
  }
  ~There() { device_.memory().release(data_); }
  [[nodiscard]] std::span<T> span() const { return {reinterpret_cast<T*>(data_), size_}; }
  [[nodiscard]] std::span<std::byte> raw() const {
    return {data_, static_cast<std::size_t>(bytes())};
  }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> here(size_);
    device_.copy(here.data(), data_, bytes());
    return here;
  }

 private:
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(size_ * sizeof(T)); }
  Device& device_;
  std::size_t size_;
  std::byte* data_;
};

// Values whose sum depends on the order of addition.
inline float value(int rank, std::size_t i) {
  return std::ldexp(1.0F + static_cast<float>((rank * 37 + static_cast<int>(i) * 11) % 101) / 97.0F,
                    (rank * 5 + static_cast<int>(i)) % 23);
}
inline std::vector<float> values(int rank, std::size_t count) {
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(value(rank, i));
  return all;
}
inline float sum_in_rank_order(int world, std::size_t i) {
  float sum = value(0, i);
  for (int r = 1; r < world; ++r) sum += value(r, i);
  return sum;
}

// Runs `body` on `world` ranks with a device each; what each threw, "" if nothing.
using DeviceBody = std::function<void(Device&, Communicator&, Transport&)>;
inline std::vector<std::string> run_on_devices(
    Kind kind, int world, const std::shared_ptr<const NcclFunctions>& functions,
    const NcclSettings& settings, const DeviceBody& body) {
  return run_ranks({kind, world}, [&](Transport& t) {
    struct Borrowed final : Transport {
      explicit Borrowed(Transport& of) : t(of) {}
      Rank rank() const override { return t.rank(); }
      int world() const override { return t.world(); }
      std::unique_ptr<Communicator> group(const std::vector<Rank>& m) override {
        return t.group(m);
      }
      void abort(const std::string& reason) override { t.abort(reason); }
      void throw_if_aborted() const override { t.throw_if_aborted(); }
      Transport& t;
    };
    const auto nccl = nccl_transport(std::make_unique<Borrowed>(t), functions, settings);
    CheckingDevice device({.by_itself = true, .streams = true});
    std::vector<Rank> all;
    for (int r = 0; r < world; ++r) all.push_back({r});
    const auto comm = nccl->group_on(device, all);
    body(device, *comm, *nccl);
    device.synchronize();
  });
}

}  // namespace pleat::test
