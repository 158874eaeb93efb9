// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/nccl_communicator.hpp"

#include <thread>

namespace pleat {
namespace {

class NcclTransport final : public Transport {
 public:
  NcclTransport(std::unique_ptr<Transport> below, std::shared_ptr<const NcclFunctions> functions,
                const NcclSettings& settings)
      : below_(std::move(below)), functions_(std::move(functions)), settings_(settings) {}

  [[nodiscard]] Rank rank() const override { return below_->rank(); }
  [[nodiscard]] int world() const override { return below_->world(); }
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    return below_->group(members);
  }
  [[nodiscard]] std::unique_ptr<Communicator> group_on(Device& device,
                                                       const std::vector<Rank>& members) override {
    if (device.is_host()) return below_->group(members);
    const auto check = [this] { below_->throw_if_aborted(); };
    device.watch([this] {
      below_->throw_if_aborted();
      for (NcclCommunicator* c : *alive_) c->poll();
    });
    owner_ = std::this_thread::get_id();
    return std::make_unique<NcclCommunicator>(
        below_->group(members), device,
        NcclJob{functions_, settings_, check, alive_, free_stream_, mapped_});
  }
  // On the rank's own thread its collectives end as well; another one only says so, and the rank
  // hears of it while it waits.
  void abort(const std::string& reason) override {
    below_->abort(reason);
    if (std::this_thread::get_id() != owner_) return;
    for (NcclCommunicator* c : *alive_) c->abandon();
  }
  void throw_if_aborted() const override { below_->throw_if_aborted(); }

 private:
  std::unique_ptr<Transport> below_;
  std::shared_ptr<const NcclFunctions> functions_;
  NcclSettings settings_;
  std::thread::id owner_;
  std::shared_ptr<int> free_stream_ = NcclJob{}.free_stream;
  std::shared_ptr<std::set<const std::byte*>> mapped_ = NcclJob{}.mapped;
  std::shared_ptr<std::set<NcclCommunicator*>> alive_ =
      std::make_shared<std::set<NcclCommunicator*>>();
};

}  // namespace

std::unique_ptr<Transport> nccl_transport(std::unique_ptr<Transport> below,
                                          std::shared_ptr<const NcclFunctions> functions,
                                          const NcclSettings& settings) {
  return std::make_unique<NcclTransport>(std::move(below), std::move(functions), settings);
}

}  // namespace pleat
