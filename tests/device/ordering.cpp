#include "ordering.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace device_double {
namespace {

/// A real device is rarely done when it is asked for the first time.
constexpr int kPollsUntilDone = 3;

}  // namespace

std::recursive_mutex& world() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

Ordering& Ordering::instance() {
  static auto* const ordering = new Ordering;  // used until the last tensor of the process is gone
  return *ordering;
}

void Ordering::merge(Clock& into, const Clock& from) {
  for (const auto& [stream, time] : from) into[stream] = std::max(into[stream], time);
}

std::uint64_t Ordering::tick(int stream) {
  merge(clocks_[stream], host_);  // work starts after what the host waited for
  return ++clocks_[stream][stream];
}

void Ordering::run(int stream, const std::vector<Access>& accesses,
                   const std::function<void()>& work) {
  const std::lock_guard lock(world());
  drain(stream, queued_[stream]);
  check(stream, accesses, tick(stream));
  work();
}

void Ordering::queue(int stream, const std::vector<Access>& accesses, std::function<void()> work) {
  const std::lock_guard lock(world());
  check(stream, accesses, tick(stream));
  tasks_[stream].push_back({std::move(work)});
  ++queued_[stream];
}

void Ordering::drain(int stream, std::uint64_t tasks) {
  while (done_[stream] < tasks) {
    const Task task = std::move(tasks_[stream].front());
    tasks_[stream].pop_front();
    ++done_[stream];
    task.work();
  }
}

Ordering::Event Ordering::record(int stream) {
  const std::lock_guard lock(world());
  tick(stream);
  return {.stream = stream, .queued = queued_[stream], .clock = clocks_[stream]};
}

void Ordering::block(int stream, const Event& event) {
  const std::lock_guard lock(world());
  if (++blocks_ == left_out_) return;
  merge(clocks_[stream], event.clock);
  const auto wait = [this, from = event.stream, tasks = event.queued] { drain(from, tasks); };
  tasks_[stream].push_back({wait});
  ++queued_[stream];
}

bool Ordering::query(Event& event) {
  const std::lock_guard lock(world());
  if (++event.polls < kPollsUntilDone && host_[event.stream] < event.clock[event.stream]) {
    return false;
  }
  if (!passed(event)) ++waits_;
  drain(event.stream, event.queued);
  merge(host_, event.clock);
  return true;
}

bool Ordering::query_stream(int stream) {
  const std::lock_guard lock(world());
  if (host_[stream] >= clocks_[stream][stream]) return true;
  if (++polls_[stream] % kPollsUntilDone != 0) return false;
  synchronize(stream);
  return true;
}

bool Ordering::passed(const Event& event) {
  const std::lock_guard lock(world());
  const auto time = event.clock.find(event.stream);
  return time == event.clock.end() || host_[event.stream] >= time->second;
}

void Ordering::synchronize(int stream) {
  const std::lock_guard lock(world());
  if (host_[stream] < clocks_[stream][stream]) ++waits_;
  drain(stream, queued_[stream]);
  merge(host_, clocks_[stream]);
}

bool Ordering::knows(const Clock& clock, const Use& use) const {
  const auto entry = clock.find(use.stream);
  return entry != clock.end() && entry->second >= use.time;
}

void Ordering::report(const char* what, const Use& earlier, int stream) {
  ++reports_;
  std::fprintf(stderr, "device double: stream %d %s stream %d without waiting for it\n", stream,
               what, earlier.stream);
  // The test that sees it must fail, whatever values come out.
  if (std::getenv("DEVICE_DOUBLE_COUNT_ONLY") == nullptr) std::abort();
}

/// Makes `at` the begin of a segment, if it lies inside one.
void Ordering::split(std::size_t at) {
  auto next = segments_.upper_bound(at);
  if (next == segments_.begin()) return;
  const auto holder = std::prev(next);
  if (holder->first == at || holder->second.end <= at) return;
  Segment rest = holder->second;
  holder->second.end = at;
  segments_.emplace(at, std::move(rest));
}

void Ordering::check(int stream, const std::vector<Access>& accesses, std::uint64_t now) {
  const Clock& known = clocks_[stream];
  for (const Access& access : accesses) {
    if (access.begin == access.end) continue;
    split(access.begin);
    split(access.end);
    std::size_t at = access.begin;
    while (at < access.end) {
      auto segment = segments_.lower_bound(at);
      if (segment == segments_.end() || segment->first > at) {
        const std::size_t end =
            segment == segments_.end() ? access.end : std::min(access.end, segment->first);
        segment = segments_.emplace(at, Segment{.end = end, .write = {}, .reads = {}}).first;
      }
      Segment& bytes = segment->second;
      if (bytes.write.time > 0 && !knows(known, bytes.write)) {
        report(access.writes ? "overwrites memory that was written by" : "reads memory written by",
               bytes.write, stream);
      }
      if (access.writes) {
        for (const auto& [reader, time] : bytes.reads) {
          if (!knows(known, {reader, time}))
            report("overwrites memory read by", {reader, time}, stream);
        }
        bytes.write = {stream, now};
        bytes.reads.clear();
      } else {
        bytes.reads[stream] = now;
      }
      at = bytes.end;
    }
  }
}

void Ordering::release(std::size_t begin, std::size_t end, int owner,
                       const std::set<int>& recorded) {
  const std::lock_guard lock(world());
  Clock known = clocks_[owner];
  merge(known, host_);
  split(begin);
  split(end);
  const auto first = segments_.lower_bound(begin), last = segments_.lower_bound(end);
  for (auto segment = first; segment != last; ++segment) {
    std::map<int, std::uint64_t> uses = segment->second.reads;
    const Use& write = segment->second.write;
    if (write.time > 0) uses[write.stream] = std::max(uses[write.stream], write.time);
    for (const auto& [stream, time] : uses) {
      if (stream == owner || recorded.count(stream) > 0 || knows(known, {stream, time})) continue;
      report("gives back memory that is used by", {stream, time}, owner);
    }
  }
  segments_.erase(first, last);
  // The allocator reuses the memory only when the streams it was told of are done with it.
  for (const int stream : recorded) {
    drain(stream, queued_[stream]);
  }
}

std::int64_t Ordering::waits() {
  const std::lock_guard lock(world());
  return waits_;
}

std::int64_t Ordering::blocks() {
  const std::lock_guard lock(world());
  return blocks_;
}

void Ordering::leave_out(std::int64_t block) {
  const std::lock_guard lock(world());
  left_out_ = block > 0 ? blocks_ + block : 0;
}

std::int64_t Ordering::reports() {
  const std::lock_guard lock(world());
  return reports_;
}

}  // namespace device_double
