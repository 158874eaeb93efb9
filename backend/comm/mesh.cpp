// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Making a mesh, and sending: what the socket takes goes at once, the mesh's thread writes the
// rest.
#include "backend/comm/mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "backend/comm/mesh_peer.hpp"
#include "core/diagnostics.hpp"

namespace pleat {

TcpMesh::TcpMesh(const Roster& roster, int process, Socket listener, const JobSecret& secret,
                 MessageHub& hub, MeshTimes times)
    : roster_(roster),
      process_(process),
      hub_(hub),
      times_(times),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  PLEAT_ASSERT(wake_.is_open());
  peers_.resize(roster.processes.size());
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    if (static_cast<int>(p) == process) continue;
    peers_[p] = std::make_unique<Peer>();
    peers_[p]->who = roster.processes[p];
  }
  for (std::size_t p = 0; p < peers_.size(); ++p) {
    owners_.insert(owners_.end(), static_cast<std::size_t>(roster.processes[p].ranks),
                   peers_[p].get());
  }
  connect_all(Lobby(std::move(listener), secret, Purpose::mesh, process, roster.epoch), secret);
  thread_ = std::thread([this] { run(); });
}

// Every process calls those before it, and meanwhile lets in those after it.
void TcpMesh::connect_all(Lobby lobby, const JobSecret& secret) {
  const Deadline deadline = after(times_.meet_s);
  std::exception_ptr problem;
  std::jthread calls([&] {
    try {
      call_those_before(secret, deadline);
    } catch (...) {
      problem = std::current_exception();
    }
  });
  const auto missing = [&] {
    return std::find_if(peers_.begin() + process_, peers_.end(), [](const auto& peer) {
      return peer != nullptr && !peer->socket.is_open();
    });
  };
  while (missing() != peers_.end() && std::chrono::steady_clock::now() < deadline) {
    std::vector<pollfd> entries;
    lobby.add_to(entries);
    const Deadline next = std::min(deadline, lobby.next_deadline().value_or(deadline));
    static_cast<void>(::poll(entries.data(), entries.size(), milliseconds_until(next)));
    for (Lobby::Arrival& a : lobby.admit()) {
      if (a.from <= process_ || a.from >= static_cast<int>(peers_.size())) continue;
      Peer& peer = *peers_[static_cast<std::size_t>(a.from)];
      // It may be here already: if our welcome came too late, it called again.
      peer.socket = std::move(a.socket);
      peer.sends = a.session.sends;
      peer.receives = MessageReader<MeshHeader>(a.session.receives);
    }
  }
  calls.join();
  if (problem) std::rethrow_exception(problem);
  if (missing() != peers_.end()) {
    throw std::runtime_error(fmt::format("{} did not connect within {} s{}",
                                         ranks_text((*missing())->who), times_.meet_s,
                                         lobby.refused_text()));
  }
}

void TcpMesh::call_those_before(const JobSecret& secret, Deadline deadline) {
  Hello hello;
  hello.purpose = Purpose::mesh;
  hello.from = process_;
  hello.epoch = roster_.epoch;
  for (int p = 0; p < process_; ++p) {
    Peer& peer = *peers_[static_cast<std::size_t>(p)];
    hello.to = p;
    try {
      Greeted greeted = call(peer.who.address, secret, hello, deadline);
      peer.socket = std::move(greeted.socket);
      peer.sends = greeted.session.sends;
      peer.receives = MessageReader<MeshHeader>(greeted.session.receives);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(fmt::format("{}: {}", ranks_text(peer.who), e.what()));
    }
  }
}

TcpMesh::~TcpMesh() {
  for (const auto& peer : peers_) {
    if (peer != nullptr) post(*peer, MeshKind::bye, {}, {});
  }
  leaving_.store(true);
  wake();
  thread_.join();
}

void TcpMesh::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.fd(), &one, sizeof one));
}

void TcpMesh::send(const Envelope& e, std::span<const std::byte> data) {
  Peer* owner = owners_.at(e.to.index());
  PLEAT_ASSERT(owner != nullptr);
  post(*owner, MeshKind::message, e, data);
}

void TcpMesh::send_abort(const std::string& message) {
  for (const auto& peer : peers_) {
    if (peer != nullptr) post(*peer, MeshKind::abort, {}, std::as_bytes(std::span(message)));
  }
}

void TcpMesh::post(Peer& peer, MeshKind kind, const Envelope& e, std::span<const std::byte> data) {
  Opening<MeshHeader> opening;
  MeshHeader& header = opening.header;
  header.kind = kind;
  header.from = e.from.value;
  header.to = e.to.value;
  header.label = e.label;
  header.bytes = data.size();
  const std::size_t all = sizeof opening + data.size();
  const std::lock_guard lock(peer.mutex);  // tags are made in the order of the messages
  if (peer.broken) return;
  opening.tags = peer.sends.make(std::as_bytes(std::span(&header, 1)), data);
  std::size_t sent = 0;
  if (peer.waiting.empty()) {
    iovec parts[2] = {{&opening, sizeof opening},
                      {const_cast<std::byte*>(data.data()), data.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = data.empty() ? 1 : 2;
    const ssize_t n = sendmsg(peer.socket.fd(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
      peer.broken = true;  // whoever reads from it will say so
      return;
    }
    sent = n < 0 ? 0 : static_cast<std::size_t>(n);
    if (sent == all) return;
  }
  Message rest = make_message(all - sent);
  std::byte* to = rest.data.get();
  if (sent < sizeof opening) {
    std::memcpy(to, reinterpret_cast<const std::byte*>(&opening) + sent, sizeof opening - sent);
    to += sizeof opening - sent;
  }
  const std::size_t from = sent > sizeof opening ? sent - sizeof opening : 0;
  if (data.size() > from) std::memcpy(to, data.data() + from, data.size() - from);
  peer.waiting.push_back(std::move(rest));
  wake();
}

// Writes what waits, as far as the socket takes it. Called with the peer's mutex held.
void TcpMesh::flush(Peer& peer) {
  while (!peer.waiting.empty() && !peer.broken) {
    const auto left = peer.waiting.front().bytes().subspan(peer.first_sent);
    const ssize_t n =
        ::send(peer.socket.fd(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      peer.broken = errno != EAGAIN && errno != EINTR;
      return;
    }
    peer.first_sent += static_cast<std::size_t>(n);
    if (static_cast<std::size_t>(n) < left.size()) return;
    peer.waiting.pop_front();
    peer.first_sent = 0;
  }
}

}  // namespace pleat
