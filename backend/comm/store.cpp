// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// After the handshake a question is: op, lengths of key and value, tags, bytes of both; an answer:
// status, length, tags, bytes. The value of a get is how many milliseconds it waits. Lengths are 32
// bits in this machine's order, as everything the job exchanges.
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

constexpr std::uint32_t kMaxKey = 256, kMaxValue = 4U << 20;
constexpr char kHello = 'h', kSet = 's', kGet = 'g', kFail = 'f', kSeal = 'e';
constexpr char kOk = '+', kTaken = '=', kFailed = '-', kTimeout = 't';

struct Question {
  std::uint32_t op, key, value;  // op: a character; sizes
};
struct Answer {
  std::uint32_t status, value;
};

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

template <class T>
std::span<const std::byte> bytes_of_header(const T& header) {
  return std::as_bytes(std::span(&header, 1));
}

// A message as it travels.
template <class Header>
std::string with_tags(const Header& header, const std::string& payload, MessageTags& tags) {
  const Tags made = tags.make(bytes_of_header(header), bytes(payload));
  std::string all;
  all.reserve(sizeof header + sizeof made + payload.size());
  all.append(reinterpret_cast<const char*>(&header), sizeof header);
  all.append(reinterpret_cast<const char*>(&made), sizeof made);
  return all + payload;
}

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

bool StoreServer::must_tell() const {
  return !failure_.empty() && std::ranges::any_of(clients_, [](const Client& c) {
    return c.socket.is_open() && !c.name.empty() && !c.told;
  });
}

void StoreServer::serve() {
  std::optional<Deadline> leaves;  // asked to stop: at the latest then
  while (!leaves || (must_tell() && std::chrono::steady_clock::now() < *leaves)) {
    std::vector<pollfd> entries{{leaves ? -1 : wake_.fd(), POLLIN, 0}};
    for (const Client& c : clients_) entries.push_back({c.socket.fd(), POLLIN, 0});
    lobby_.add_to(entries);
    Deadline first = leaves.value_or(after(60));
    if (const auto next = lobby_.next_deadline()) first = std::min(first, *next);
    for (const Client& c : clients_) {
      if (!c.waits_for.empty()) first = std::min(first, c.waits_until);
    }
    if (poll(entries.data(), entries.size(), milliseconds_until(first)) < 0) continue;  // EINTR
    give_up();
    if (entries[0].revents != 0) leaves = after(1);
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      Client& client = clients_[i];
      if (entries[i + 1].revents == 0 || read(client)) continue;
      client.socket.close();
      if (!sealed_ && !client.name.empty()) fail(client.name + " left while the job was forming");
    }
    std::erase_if(clients_, [](const Client& c) { return !c.socket.is_open(); });
    let_in();
  }
}

void StoreServer::let_in() {
  for (Lobby::Arrival& a : lobby_.admit()) {
    Client& c = clients_.emplace_back();
    c.process = a.from;
    c.socket = std::move(a.socket);
    c.session = a.session;
  }
  const std::lock_guard lock(refused_mutex_);
  refused_ = lobby_.refused_text();
}

// Process 0 makes the roster; nobody speaks for another.
bool StoreServer::may_set(const Client& c, const std::string& key) {
  return c.process == 0 || key == "process/" + std::to_string(c.process);
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

// Answers what has been read whole. False for a question that is not as a client asks it: it is not
// talked to any more.
bool StoreServer::answer(Client& client) {
  std::string& in = client.received;
  while (in.size() >= sizeof(Question) + sizeof(Tags)) {
    Question q;
    Tags tags;
    std::memcpy(&q, in.data(), sizeof q);
    std::memcpy(&tags, in.data() + sizeof q, sizeof tags);
    if (!client.session.receives.fits_header(bytes_of_header(q), tags)) return false;
    if (q.key > kMaxKey || q.value > kMaxValue) return false;
    const std::size_t begin = sizeof q + sizeof tags, size = begin + q.key + q.value;
    if (in.size() < size) return true;
    const std::string key = in.substr(begin, q.key);
    const std::string value = in.substr(begin + q.key, q.value);
    if (!client.session.receives.fits_payload(bytes(key + value), tags)) return false;
    in.erase(0, size);
    bool sent = true;
    switch (static_cast<char>(q.op)) {
      case kHello:
        client.name = key;
        sent = reply(client, kOk, "");
        break;
      case kSet: {
        if (!may_set(client, key)) return false;
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
        if (client.process != 0) return false;
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
    client.socket.send_exact(bytes(with_tags(header, value, client.session.sends)), after(5));
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

StoreClient::StoreClient(const Address& server, const JobSecret& secret, int process,
                         const std::string& name, Deadline deadline) {
  Hello hello;
  hello.purpose = Purpose::store;
  hello.from = process;
  Greeted greeted = call(server, secret, hello, deadline);
  socket_ = std::move(greeted.socket);
  session_ = greeted.session;
  char status = 0;
  static_cast<void>(ask(kHello, name, "", deadline, status));
}

std::string StoreClient::ask(char op, const std::string& key, const std::string& value,
                             Deadline deadline, char& status) {
  PLEAT_ASSERT(key.size() <= kMaxKey && value.size() <= kMaxValue);
  const Question header{static_cast<std::uint32_t>(op), static_cast<std::uint32_t>(key.size()),
                        static_cast<std::uint32_t>(value.size())};
  socket_.send_exact(bytes(with_tags(header, key + value, session_.sends)), deadline);
  Answer answer{};
  Tags tags;
  socket_.recv_exact(std::as_writable_bytes(std::span(&answer, 1)), deadline);
  socket_.recv_exact(std::as_writable_bytes(std::span(&tags, 1)), deadline);
  if (!session_.receives.fits_header(bytes_of_header(answer), tags) || answer.value > kMaxValue) {
    throw std::runtime_error("the store's answer is broken");
  }
  std::string text(answer.value, '\0');
  socket_.recv_exact(std::as_writable_bytes(std::span(text)), deadline);
  if (!session_.receives.fits_payload(bytes(text), tags)) {
    throw std::runtime_error("the store's answer is broken");
  }
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
