// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The mesh's thread: it reads, writes what did not go at once, sends signs of life, and notices
// which process is lost.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/comm/mesh_peer.hpp"

namespace pleat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kBroken = "what it sends is broken";
constexpr int kReadsInTurn = 64;  // of one peer before the others get theirs

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

}  // namespace

bool TcpMesh::all_left() const {
  return std::all_of(peers_.begin(), peers_.end(),
                     [](const auto& peer) { return peer == nullptr || peer->gone; });
}

void TcpMesh::run() {
  constexpr double kFarewell = 3;  // seconds for others to leave
  Clock::time_point last_beat = Clock::now(), leaves;
  bool shut = false;
  std::vector<pollfd> entries;
  std::vector<Peer*> polled;
  for (;;) {
    if (leaving_.load()) {
      if (leaves == Clock::time_point()) leaves = Clock::now();
      if (all_left() || seconds_since(leaves) > kFarewell) return;
    }
    entries.assign(1, {wake_.fd(), POLLIN, 0});
    polled.clear();
    bool unsent = false;
    for (const auto& peer : peers_) {
      if (peer == nullptr || peer->gone) continue;
      const std::lock_guard lock(peer->mutex);
      const bool waits = !peer->waiting.empty() && !peer->broken;
      unsent = unsent || waits;
      entries.push_back({peer->socket.fd(), static_cast<short>(POLLIN | (waits ? POLLOUT : 0)), 0});
      polled.push_back(peer.get());
    }
    if (leaving_.load() && !unsent && !shut) {  // the others see the end and close in turn
      shut = true;
      for (Peer* peer : polled) shutdown(peer->socket.fd(), SHUT_WR);
    }
    const double pause = leaving_.load() ? 0.05 : times_.beat_s;
    if (::poll(entries.data(), entries.size(), static_cast<int>(pause * 1000) + 1) < 0) continue;
    std::uint64_t drained = 0;
    static_cast<void>(!::read(wake_.fd(), &drained, sizeof drained));
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if ((entries[i + 1].revents & POLLOUT) != 0) {
        const std::lock_guard lock(polled[i]->mutex);
        flush(*polled[i]);
      }
      if ((entries[i + 1].revents & ~POLLOUT) != 0) read(*polled[i]);
    }
    if (leaving_.load() || seconds_since(last_beat) < times_.beat_s) continue;
    last_beat = Clock::now();
    beat();
  }
}

// Only after everything that has come was read: this process may have slept itself.
void TcpMesh::beat() {
  std::int64_t progress = 0;
  {
    const std::lock_guard lock(watch_mutex_);
    if (watched_.progress) progress = watched_.progress();
  }
  for (const auto& peer : peers_) {
    if (peer == nullptr || peer->left || peer->gone) continue;
    post(*peer, MeshKind::beat, {}, std::as_bytes(std::span(&progress, 1)));
    const double silent = seconds_since(peer->heard);
    if (silent > times_.lost_s) lose(*peer, fmt::format("no sign of life for {:.0f} s", silent));
  }
}

void TcpMesh::read(Peer& peer) {
  for (int turn = 0; turn < kReadsInTurn && !peer.gone; ++turn) {
    const std::span<std::byte> room = peer.receives.room();
    const ssize_t n = recv(peer.socket.fd(), room.data(), room.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      const bool ended = n == 0 || errno == ECONNRESET || errno == EPIPE;
      const std::string why = ended ? "its process ended" : std::strerror(errno);
      peer.gone = true;
      if (!peer.left && !leaving_.load()) lose(peer, why);
      return;
    }
    peer.heard = Clock::now();
    switch (peer.receives.took(static_cast<std::size_t>(n))) {
      case Arrived::part:
        break;
      case Arrived::message:
        handle(peer);
        break;
      case Arrived::broken:
        return lose(peer, kBroken);
    }
  }
}

void TcpMesh::handle(Peer& peer) {
  std::optional<MeshNews> news =
      read_news(peer.receives.header(), std::move(peer.receives.payload()), peer.who, hub_.first(),
                hub_.count());
  if (!news) return lose(peer, kBroken);
  std::visit([&](auto& n) { act_on(n, peer); }, *news);
}

void TcpMesh::act_on(FromRank& m, Peer&) { hub_.deliver(m.envelope, std::move(m.message)); }

void TcpMesh::act_on(const SignOfLife& beat, Peer& peer) {
  if (beat.progress) peer.progress.store(*beat.progress);
}

// Passed on, in case its sender ended before it told all.
void TcpMesh::act_on(const JobAborted& a, Peer&) { hub_.abort(a.message, true); }

void TcpMesh::act_on(AsksWhere, Peer& peer) {
  std::string answer;
  {
    const std::lock_guard lock(watch_mutex_);
    if (watched_.where) answer = to_lines(watched_.where());
  }
  post(peer, MeshKind::answer, {}, std::as_bytes(std::span(answer)));
}

void TcpMesh::act_on(RanksAreAt& told, Peer&) {
  const std::lock_guard lock(watch_mutex_);
  answers_.insert(answers_.end(), told.where.begin(), told.where.end());
  if (answers_missing_ > 0) --answers_missing_;
  answered_.notify_all();
}

void TcpMesh::act_on(GoodBye, Peer& peer) { peer.left = true; }

void TcpMesh::lose(Peer& peer, const std::string& why) {
  peer.gone = true;
  {
    const std::lock_guard lock(peer.mutex);
    peer.broken = true;
  }
  hub_.abort(
      fmt::format("{} {} lost: {}", ranks_text(peer.who), peer.who.ranks == 1 ? "is" : "are", why),
      true);
}

void TcpMesh::watch(Watched watched) {
  const std::lock_guard lock(watch_mutex_);
  watched_ = std::move(watched);
}

std::int64_t TcpMesh::progress() const {
  std::int64_t sum = 0;
  for (const auto& peer : peers_) {
    if (peer != nullptr) sum += peer->progress.load();
  }
  return sum;
}

std::vector<RankWhere> TcpMesh::where(double seconds) {
  std::unique_lock lock(watch_mutex_);
  answers_.clear();
  answers_missing_ = peers_.size() - 1;
  lock.unlock();
  for (const auto& peer : peers_) {
    if (peer != nullptr) post(*peer, MeshKind::ask, {}, {});
  }
  lock.lock();
  answered_.wait_until(lock, after(seconds), [&] { return answers_missing_ == 0; });
  std::vector<RankWhere> all = std::move(answers_);
  answers_.clear();
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    for (int r = peer->who.first_rank; r < peer->who.first_rank + peer->who.ranks; ++r) {
      const bool told = std::any_of(all.begin(), all.end(),
                                    [&](const RankWhere& w) { return w.rank.value == r; });
      if (!told) all.push_back({Rank{r}, "does not answer"});
    }
  }
  return all;
}

}  // namespace pleat
