// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// TCP connections between all processes of a job. They carry messages of ranks, and what processes
// have to know of each other: that they live, how far they are, and that the job has failed. A
// process whose connection breaks, or that is silent for too long, is lost, and the job with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/comm/lobby.hpp"
#include "backend/comm/mesh_message.hpp"
#include "backend/comm/message_hub.hpp"
#include "backend/comm/rendezvous.hpp"
#include "backend/rank_progress.hpp"

namespace pleat {

// What other processes may ask this one. Another thread calls it until it is replaced.
struct Watched {
  std::function<std::int64_t()> progress;  // operations that its ranks finished
  std::function<std::vector<RankWhere>()> where;
};

// The other processes of a job, for the thread that watches whether the job still moves.
class Peers {
 public:
  virtual ~Peers() = default;
  // An empty Watched: nothing can be asked any more. Returns when no call is under way.
  virtual void watch(Watched) = 0;
  // Operations that the others' ranks have finished, as far as they have told.
  [[nodiscard]] virtual std::int64_t progress() const = 0;
  // Where the others' ranks are. A process that does not answer in time is named as such.
  [[nodiscard]] virtual std::vector<RankWhere> where(double seconds) = 0;
};

struct MeshTimes {
  double beat_s = 1;   // a sign of life
  double lost_s = 30;  // without any: lost
  double meet_s = 60;  // for the connections to be made
};

class TcpMesh final : public Wire, public Peers {
 public:
  // Connects to every other process; std::runtime_error naming those that it cannot reach. The
  // hub must outlive it. Every connection begins with the handshake, every message has its tags.
  TcpMesh(const Roster&, int process, Socket listener, const JobSecret&, MessageHub&, MeshTimes);
  // Says good-bye and waits a moment for the others to do so: what was sent arrives.
  ~TcpMesh() override;

  void send(const Envelope&, std::span<const std::byte> data) override;
  void send_abort(const std::string& message) override;

  void watch(Watched) override;
  [[nodiscard]] std::int64_t progress() const override;
  [[nodiscard]] std::vector<RankWhere> where(double seconds) override;

 private:
  struct Peer;

  void connect_all(Lobby, const JobSecret&);
  void call_those_before(const JobSecret&, Deadline);
  void run();
  void read(Peer&);
  void handle(Peer&);
  void act_on(FromRank&, Peer&);
  void act_on(const SignOfLife&, Peer&);
  void act_on(const JobAborted&, Peer&);
  void act_on(AsksWhere, Peer&);
  void act_on(RanksAreAt&, Peer&);
  void act_on(GoodBye, Peer&);
  void beat();
  void lose(Peer&, const std::string& why);
  void post(Peer&, MeshKind, const Envelope&, std::span<const std::byte>);
  void flush(Peer&);
  void wake();
  [[nodiscard]] bool all_left() const;

  const Roster roster_;
  const int process_;
  MessageHub& hub_;
  const MeshTimes times_;
  std::vector<std::unique_ptr<Peer>> peers_;  // by process; null: this one
  std::vector<Peer*> owners_;                 // by rank
  Socket wake_;
  std::atomic<bool> leaving_ = false;

  std::mutex watch_mutex_;
  std::condition_variable answered_;
  Watched watched_;
  std::vector<RankWhere> answers_;
  std::size_t answers_missing_ = 0;
  std::thread thread_;
};

}  // namespace pleat
