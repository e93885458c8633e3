#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace device_double {

/// Guards all state of the double: operations run one after the other.
std::recursive_mutex& world();

/// Streams, events and the host, ordered by vector clocks. Copies that a real device would make
/// later are queued here, and run only when something that must come after them does: a missing
/// wait is therefore seen every time, as wrong values and as a report.
///
/// One clock stands for all threads of the host: what two threads forget to tell each other is not
/// seen. Every function locks world().
class Ordering {
 public:
  using Clock = std::map<int, std::uint64_t>;  ///< operations of each stream that are done before

  struct Event {
    int stream = 0;
    std::uint64_t queued = 0;  ///< tasks of the stream that come before it
    Clock clock;
    int polls = 0;
  };

  /// Bytes of device memory, by offset, that an operation reads or writes.
  struct Access {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool writes = false;
  };

  static Ordering& instance();

  /// An operation of the stream that runs now, after all that is queued before it.
  void run(int stream, const std::vector<Access>& accesses, const std::function<void()>& work);
  /// An operation of the stream that runs later.
  void queue(int stream, const std::vector<Access>& accesses, std::function<void()> work);

  Event record(int stream);
  /// Later work of the stream comes after the event.
  void block(int stream, const Event& event);
  /// True when the host has learned that the event is over; polling makes progress.
  bool query(Event& event);
  bool query_stream(int stream);
  void synchronize(int stream);

  /// Memory that `owner` allocated is given back. Reports streams that may still use it, unless the
  /// allocator was told of them.
  void release(std::size_t begin, std::size_t end, int owner, const std::set<int>& recorded);

  /// How often a stream was made to wait for an event.
  std::int64_t blocks();
  /// Forgets the block() of that number, counted from 1 after those so far: what becomes of a
  /// program that lacks it. 0 = none.
  void leave_out(std::int64_t block);

  std::int64_t reports();
  /// How often the host had to wait for a stream.
  std::int64_t waits();
  /// Whether the host has learned that the event is over.
  bool passed(const Event& event);

 private:
  struct Use {
    int stream = 0;
    std::uint64_t time = 0;
  };
  struct Segment {
    std::size_t end = 0;
    Use write;
    std::map<int, std::uint64_t> reads;
  };
  struct Task {
    std::function<void()> work;
  };

  std::uint64_t tick(int stream);
  void drain(int stream, std::uint64_t tasks);
  void check(int stream, const std::vector<Access>& accesses, std::uint64_t now);
  void split(std::size_t at);
  bool knows(const Clock& clock, const Use& use) const;
  void report(const char* what, const Use& earlier, int stream);
  static void merge(Clock& into, const Clock& from);

  std::map<int, Clock> clocks_;
  Clock host_;
  std::map<int, std::deque<Task>> tasks_;
  std::map<int, std::uint64_t> queued_;  ///< tasks ever queued on the stream
  std::map<int, std::uint64_t> done_;    ///< of them, those that ran
  std::map<int, int> polls_;
  std::map<std::size_t, Segment> segments_;
  std::int64_t reports_ = 0;
  std::int64_t waits_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t left_out_ = 0;  ///< of blocks_
};

}  // namespace device_double
