// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Making a mesh, and sending: what the socket takes goes at once, the mesh's thread writes the
// rest.
#include "backend/comm/mesh.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "backend/comm/mesh_peer.hpp"
#include "core/diagnostics.hpp"

namespace pleat {

Mesh::Mesh(const Roster& roster, int process, Socket listener, MessageHub& hub, MeshTimes times)
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
  connect_all(std::move(listener));
  thread_ = std::thread([this] { run(); });
}

// Every process calls those before it; who calls says who it is and shows the job's token.
void Mesh::connect_all(Socket listener) {
  const Deadline deadline = after(times_.meet_s);
  Header hello;
  hello.kind = Kind::hello;
  hello.from = process_;
  hello.label.group = roster_.token;
  for (int p = 0; p < process_; ++p) {
    Peer& peer = *peers_[static_cast<std::size_t>(p)];
    hello.to = p;
    try {
      peer.socket = connect_until(peer.who.address, deadline);
      peer.socket.send_exact(std::as_bytes(std::span(&hello, 1)), deadline);
    } catch (const std::runtime_error& e) {
      throw std::runtime_error(fmt::format("{}: {}", ranks_text(peer.who), e.what()));
    }
  }
  const auto missing = [&] {
    return std::find_if(peers_.begin() + process_, peers_.end(), [](const auto& peer) {
      return peer != nullptr && !peer->socket.is_open();
    });
  };
  while (missing() != peers_.end()) {
    Socket s = accept_until(listener, deadline);
    if (!s.is_open()) {
      throw std::runtime_error(fmt::format("{} did not connect within {} s",
                                           ranks_text((*missing())->who), times_.meet_s));
    }
    try {
      Header h;
      s.recv_exact(std::as_writable_bytes(std::span(&h, 1)), std::min(deadline, after(5)));
      const bool known = h.magic == kMeshMagic && h.kind == Kind::hello &&
                         h.label.group == roster_.token && h.to == process_ && h.from > process_ &&
                         h.from < static_cast<int>(peers_.size());
      if (known) peers_[static_cast<std::size_t>(h.from)]->socket = std::move(s);
    } catch (const std::runtime_error&) {  // a stranger, or a peer that will be missed
    }
  }
}

Mesh::~Mesh() {
  for (const auto& peer : peers_) {
    if (peer != nullptr) post(*peer, Kind::bye, {}, {});
  }
  leaving_.store(true);
  wake();
  thread_.join();
}

void Mesh::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.fd(), &one, sizeof one));
}

void Mesh::send(const Envelope& e, std::span<const std::byte> data) {
  Peer* owner = owners_.at(e.to.index());
  PLEAT_ASSERT(owner != nullptr);
  post(*owner, Kind::message, e, data);
}

void Mesh::send_abort(const std::string& message) {
  for (const auto& peer : peers_) {
    if (peer != nullptr) post(*peer, Kind::abort, {}, std::as_bytes(std::span(message)));
  }
}

void Mesh::post(Peer& peer, Kind kind, const Envelope& e, std::span<const std::byte> data) {
  Header header;
  header.kind = kind;
  header.from = e.from.value;
  header.to = e.to.value;
  header.label = e.label;
  header.bytes = data.size();
  const std::size_t all = sizeof header + data.size();
  const std::lock_guard lock(peer.mutex);
  if (peer.broken) return;
  std::size_t sent = 0;
  if (peer.waiting.empty()) {
    iovec parts[2] = {{&header, sizeof header}, {const_cast<std::byte*>(data.data()), data.size()}};
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
  if (sent < sizeof header) {
    std::memcpy(to, reinterpret_cast<const std::byte*>(&header) + sent, sizeof header - sent);
    to += sizeof header - sent;
  }
  const std::size_t from = sent > sizeof header ? sent - sizeof header : 0;
  if (data.size() > from) std::memcpy(to, data.data() + from, data.size() - from);
  peer.waiting.push_back(std::move(rest));
  wake();
}

// Writes what waits, as far as the socket takes it. Called with the peer's mutex held.
void Mesh::flush(Peer& peer) {
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
