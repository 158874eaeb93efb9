// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A question is: magic, op, length and bytes of the key, of the value; an answer: status, length
// and bytes. The value of a get is how many milliseconds it waits. Lengths are 32 bits in this
// machine's order, as everything the job exchanges.
#include "backend/comm/store.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::uint32_t kMagic = 0x504c5354;
constexpr std::uint32_t kMaxKey = 256, kMaxValue = 64U << 20;
constexpr char kHello = 'h', kSet = 's', kGet = 'g', kFail = 'f', kSeal = 'e';
constexpr char kOk = '+', kTaken = '=', kFailed = '-', kTimeout = 't';

struct Question {
  std::uint32_t magic, op, key, value;  // op: a character; sizes
};
struct Answer {
  std::uint32_t status, value;
};

template <class T>
std::string raw(const T& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}
std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

StoreServer::StoreServer(Socket listener)
    : listener_(std::move(listener)), wake_(eventfd(0, EFD_CLOEXEC)) {
  PLEAT_ASSERT(wake_.is_open());
  thread_ = std::thread([this] { serve(); });
}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_.fd(), &one, sizeof one));
  thread_.join();
}

bool StoreServer::must_tell() const {
  return !failure_.empty() && std::ranges::any_of(clients_, [](const Client& c) {
    return c.socket.is_open() && !c.name.empty() && !c.told;
  });
}

void StoreServer::serve() {
  std::optional<Deadline> leaves;  // asked to stop: at the latest then
  while (!leaves || (must_tell() && std::chrono::steady_clock::now() < *leaves)) {
    std::vector<pollfd> entries{{leaves ? -1 : wake_.fd(), POLLIN, 0},
                                {listener_.fd(), POLLIN, 0}};
    for (const Client& c : clients_) entries.push_back({c.socket.fd(), POLLIN, 0});
    Deadline first = leaves.value_or(after(60));
    for (const Client& c : clients_) {
      if (!c.waits_for.empty()) first = std::min(first, c.waits_until);
    }
    if (poll(entries.data(), entries.size(), milliseconds_until(first)) < 0) continue;  // EINTR
    give_up();
    if (entries[0].revents != 0) leaves = after(1);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      Client& client = clients_[i];
      if (entries[i + 2].revents == 0 || read(client)) continue;
      client.socket.close();
      if (!sealed_ && !client.name.empty()) fail(client.name + " left while the job was forming");
    }
    std::erase_if(clients_, [](const Client& c) { return !c.socket.is_open(); });
    if (entries[1].revents != 0) {
      Socket s = accept_until(listener_, after(0));
      if (s.is_open()) clients_.emplace_back().socket = std::move(s);
    }
  }
}

// Answers those that have waited for as long as they wanted.
void StoreServer::give_up() {
  for (Client& c : clients_) {
    if (c.waits_for.empty() || c.waits_until > std::chrono::steady_clock::now()) continue;
    c.waits_for.clear();
    static_cast<void>(reply(c, kTimeout, ""));
  }
}

bool StoreServer::read(Client& client) {
  char piece[4096];
  for (;;) {
    const ssize_t n = recv(client.socket.fd(), piece, sizeof piece, MSG_DONTWAIT);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    client.received.append(piece, static_cast<std::size_t>(n));
    if (!answer(client)) return false;
  }
}

// Answers what has been read whole. False for a stranger, who is not talked to.
bool StoreServer::answer(Client& client) {
  std::string& in = client.received;
  while (in.size() >= sizeof(Question)) {
    Question q;
    std::memcpy(&q, in.data(), sizeof q);
    if (q.magic != kMagic || q.key > kMaxKey || q.value > kMaxValue) return false;
    const std::size_t size = sizeof q + q.key + q.value;
    if (in.size() < size) return true;
    const std::string key = in.substr(sizeof q, q.key);
    const std::string value = in.substr(sizeof q + q.key, q.value);
    in.erase(0, size);
    bool sent = true;
    switch (static_cast<char>(q.op)) {
      case kHello:
        client.name = key;
        sent = reply(client, kOk, "");
        break;
      case kSet: {
        const auto [entry, is_new] = values_.try_emplace(key, value);
        sent = reply(client, is_new || entry->second == value ? kOk : kTaken, entry->second);
        for (Client& other : clients_) {
          if (!is_new || other.waits_for != key) continue;
          other.waits_for.clear();
          static_cast<void>(reply(other, kOk, value));
        }
        break;
      }
      case kGet: {
        const auto found = values_.find(key);
        if (!failure_.empty()) {
          sent = reply(client, kFailed, failure_);
          client.told = true;
        } else if (found != values_.end()) {
          sent = reply(client, kOk, found->second);
        } else {
          client.waits_for = key;
          client.waits_until = after(std::atoi(value.c_str()) / 1000.0);
        }
        break;
      }
      case kFail:
        fail(value);
        sent = reply(client, kOk, "");
        break;
      case kSeal:
        sealed_ = true;
        sent = reply(client, kOk, "");
        break;
      default:
        return false;
    }
    if (!sent) return false;
  }
  return true;
}

bool StoreServer::reply(Client& client, char status, const std::string& value) {
  try {
    const Answer header{static_cast<std::uint32_t>(status),
                        static_cast<std::uint32_t>(value.size())};
    client.socket.send_exact(bytes(raw(header) + value), after(5));
    return true;
  } catch (const std::runtime_error&) {
    return false;  // poll() will see that it is gone
  }
}

void StoreServer::fail(const std::string& message) {
  if (!failure_.empty()) return;
  failure_ = message;
  for (Client& c : clients_) {
    if (c.waits_for.empty() || !c.socket.is_open()) continue;
    c.waits_for.clear();
    static_cast<void>(reply(c, kFailed, failure_));
    c.told = true;
  }
}

StoreClient::StoreClient(const Address& server, const std::string& name, Deadline deadline)
    : socket_(connect_until(server, deadline)) {
  char status = 0;
  static_cast<void>(ask(kHello, name, "", deadline, status));
}

std::string StoreClient::ask(char op, const std::string& key, const std::string& value,
                             Deadline deadline, char& status) {
  PLEAT_ASSERT(key.size() <= kMaxKey && value.size() <= kMaxValue);
  const Question header{kMagic, static_cast<std::uint32_t>(op),
                        static_cast<std::uint32_t>(key.size()),
                        static_cast<std::uint32_t>(value.size())};
  socket_.send_exact(bytes(raw(header) + key + value), deadline);
  Answer answer{};
  socket_.recv_exact(std::as_writable_bytes(std::span(&answer, 1)), deadline);
  if (answer.value > kMaxValue) throw std::runtime_error("the store's answer is broken");
  std::string text(answer.value, '\0');
  socket_.recv_exact(std::as_writable_bytes(std::span(text)), deadline);
  status = static_cast<char>(answer.status);
  return text;
}

bool StoreClient::set(const std::string& key, const std::string& value, Deadline deadline) {
  char status = 0;
  static_cast<void>(ask(kSet, key, value, deadline, status));
  return status == kOk;
}

std::string StoreClient::get(const std::string& key, Deadline deadline) {
  char status = 0;
  const std::string wait = std::to_string(milliseconds_until(deadline));
  std::string value = ask(kGet, key, wait, deadline + std::chrono::seconds(5), status);
  if (status == kTimeout) throw StoreTimeout("no '" + key + "' came");
  if (status != kOk) throw std::runtime_error(value);
  return value;
}

void StoreClient::fail(const std::string& message, Deadline deadline) {
  char status = 0;
  static_cast<void>(ask(kFail, "", message, deadline, status));
}

void StoreClient::seal(Deadline deadline) {
  char status = 0;
  static_cast<void>(ask(kSeal, "", "", deadline, status));
}

}  // namespace pleat
