// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/thread_transport.hpp"

#include <map>

#include "backend/comm/members.hpp"
#include "backend/comm/thread_communicator.hpp"
#include "backend/comm/thread_device_communicator.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<ThreadJob> job, Rank rank, int world)
      : job_(std::move(job)), rank_(rank), world_(world) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] int world() const override { return world_; }

  // Does not wait: the k-th group of the same members is the same on all of them.
  [[nodiscard]] std::unique_ptr<Communicator> group(const std::vector<Rank>& members) override {
    job_->throw_if_aborted();
    const int place = place_among(members, rank_, world_);
    const int nth = made_[members]++;
    return std::make_unique<ThreadCommunicator>(job_, job_->group(members, nth), place);
  }

  [[nodiscard]] std::unique_ptr<Communicator> group_on(Device& device,
                                                       const std::vector<Rank>& members) override {
    if (device.is_host()) return group(members);
    job_->throw_if_aborted();
    const int place = place_among(members, rank_, world_);
    const int nth = made_[members]++;
    return std::make_unique<ThreadDeviceCommunicator>(job_, job_->group(members, nth), place,
                                                      device);
  }

  void abort(const std::string& reason) override { job_->abort(rank_, reason); }
  void throw_if_aborted() const override { job_->throw_if_aborted(); }

 private:
  std::shared_ptr<ThreadJob> job_;
  Rank rank_;
  int world_;
  std::map<std::vector<Rank>, int> made_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int world) {
  PLEAT_ASSERT(world > 0);
  const auto job = std::make_shared<ThreadJob>();
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < world; ++r) {
    transports.push_back(std::make_unique<ThreadTransport>(job, Rank{r}, world));
  }
  return transports;
}

}  // namespace pleat
