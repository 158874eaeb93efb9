// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/store.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <stdexcept>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr int kNobody = -1;  // no client has this number

}  // namespace

StoreServer::StoreServer(Socket listener, const JobSecret& secret, LobbyLimits limits)
    : lobby_(std::move(listener), secret, Purpose::store, 0, 0, limits),
      wake_(eventfd(0, EFD_CLOEXEC)) {
  PLEAT_ASSERT(wake_.is_open());
  thread_ = std::thread([this] { serve(); });
}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.fd(), &one, sizeof one));
  thread_.join();
}

std::string StoreServer::refused_text() const {
  const std::lock_guard lock(refused_mutex_);
  return refused_;
}

void StoreServer::serve() {
  std::optional<Deadline> leaves;  // asked to stop: at the latest then
  while (!leaves || (table_.must_tell() && std::chrono::steady_clock::now() < *leaves)) {
    std::vector<pollfd> entries{{leaves ? -1 : wake_.fd(), POLLIN, 0}};
    for (const Client& c : clients_) entries.push_back({c.socket.fd(), POLLIN, 0});
    lobby_.add_to(entries);
    Deadline first = leaves.value_or(after(60));
    if (const auto next = lobby_.next_deadline()) first = std::min(first, *next);
    if (const auto next = table_.next_deadline()) first = std::min(first, *next);
    if (poll(entries.data(), entries.size(), milliseconds_until(first)) < 0) continue;  // EINTR
    StoreTable::Replies replies;
    table_.give_up(std::chrono::steady_clock::now(), replies);
    send_all(replies, kNobody);
    if (entries[0].revents != 0) leaves = after(1);
    std::size_t entry = 0;
    for (Client& client : clients_) {
      if (entries[++entry].revents == 0 || read(client)) continue;
      client.socket.close();
      replies.clear();
      table_.leave(client.number, replies);
      send_all(replies, kNobody);
    }
    std::erase_if(clients_, [](const Client& c) { return !c.socket.is_open(); });
    let_in();
  }
}

void StoreServer::let_in() {
  for (Lobby::Arrival& a : lobby_.admit()) {
    clients_.push_back({table_.join(a.from), std::move(a.socket), a.session.sends,
                        MessageReader<QuestionHeader>(a.session.receives)});
  }
  const std::lock_guard lock(refused_mutex_);
  refused_ = lobby_.refused_text();
}

bool StoreServer::read(Client& client) {
  for (;;) {
    const std::span<std::byte> room = client.questions.room();
    const ssize_t n = recv(client.socket.fd(), room.data(), room.size(), MSG_DONTWAIT);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    switch (client.questions.took(static_cast<std::size_t>(n))) {
      case Arrived::part:
        break;
      case Arrived::message:
        if (!answer(client)) return false;
        break;
      case Arrived::broken:
        return false;
    }
  }
}

bool StoreServer::answer(Client& client) {
  StoreTable::Replies replies;
  const StoreQuestion q = read_question(client.questions.header(), client.questions.payload());
  const Deadline now = std::chrono::steady_clock::now();
  const bool may_ask = table_.ask(client.number, q, now, replies);
  return send_all(replies, client.number) && may_ask;
}

bool StoreServer::send_all(const StoreTable::Replies& replies, int asked) {
  bool sent = true;
  for (const StoreReply& r : replies) {
    const auto client = std::ranges::find(clients_, r.client, &Client::number);
    if (client == clients_.end()) continue;
    if (!send(*client, r.answer) && r.client == asked) sent = false;
  }
  return sent;
}

bool StoreServer::send(Client& client, const StoreAnswer& answer) {
  try {
    const std::string all = to_wire(answer, client.sends);
    client.socket.send_exact(std::as_bytes(std::span(all)), after(5));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

StoreClient::StoreClient(const Address& server, const JobSecret& secret, int process,
                         const std::string& name, Deadline deadline) {
  Hello hello;
  hello.purpose = Purpose::store;
  hello.from = process;
  Greeted greeted = call(server, secret, hello, deadline);
  socket_ = std::move(greeted.socket);
  sends_ = greeted.session.sends;
  answers_ = MessageReader<AnswerHeader>(greeted.session.receives);
  static_cast<void>(ask({StoreOp::hello, name, ""}, deadline));
}

StoreAnswer StoreClient::ask(const StoreQuestion& question, Deadline deadline) {
  const std::string all = to_wire(question, sends_);
  socket_.send_exact(std::as_bytes(std::span(all)), deadline);
  for (;;) {
    const std::span<std::byte> room = answers_.room();
    socket_.recv_exact(room, deadline);
    switch (answers_.took(room.size())) {
      case Arrived::part:
        break;
      case Arrived::message:
        return read_answer(answers_.header(), answers_.payload());
      case Arrived::broken:
        throw std::runtime_error("the store's answer is broken");
    }
  }
}

bool StoreClient::set(const std::string& key, const std::string& value, Deadline deadline) {
  return ask({StoreOp::set, key, value}, deadline).status == StoreStatus::ok;
}

std::string StoreClient::get(const std::string& key, Deadline deadline) {
  const std::string wait = std::to_string(milliseconds_until(deadline));
  const StoreAnswer answer = ask({StoreOp::get, key, wait}, deadline + std::chrono::seconds(5));
  if (answer.status == StoreStatus::timeout) throw StoreTimeout("no '" + key + "' came");
  if (answer.status != StoreStatus::ok) throw std::runtime_error(answer.value);
  return answer.value;
}

void StoreClient::fail(const std::string& message, Deadline deadline) {
  static_cast<void>(ask({StoreOp::fail, "", message}, deadline));
}

void StoreClient::seal(Deadline deadline) {
  static_cast<void>(ask({StoreOp::seal, "", ""}, deadline));
}

}  // namespace pleat
