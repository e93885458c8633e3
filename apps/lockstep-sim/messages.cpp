#include "messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <simgrid/s4u.hpp>

#include "routes.h"

namespace lockstep::sim {
namespace {

namespace sg = simgrid::s4u;
using simulate::Cluster;
using simulate::Flow;
using simulate::Round;

/// What one rank sends and receives in a round.
struct RankRound {
  std::vector<Flow> sends;
  std::vector<Flow> receives;
};

std::vector<std::vector<RankRound>> by_rank(const std::vector<Round>& schedule,
                                            std::int64_t workers) {
  std::vector<std::vector<RankRound>> all(static_cast<std::size_t>(workers),
                                          std::vector<RankRound>(schedule.size()));
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    for (const Flow& flow : schedule[i].flows) {
      all[static_cast<std::size_t>(flow.from)][i].sends.push_back(flow);
      all[static_cast<std::size_t>(flow.to)][i].receives.push_back(flow);
    }
  }
  return all;
}

sg::Mailbox* mailbox(const Flow& flow) {
  return sg::Mailbox::by_name(fmt::format("{}-{}", flow.from, flow.to));
}

/// Messages inside a host use no simulated link: the receiver takes their time after they were
/// sent.
class InsideMessages {
 public:
  sg::SemaphorePtr of(const Flow& flow) {
    auto& found = sent_[{flow.from, flow.to}];
    if (!found) found = sg::Semaphore::create(0);
    return found;
  }

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, sg::SemaphorePtr> sent_;
};

void exchange(const RankRound& round, const Cluster& cluster, InsideMessages& inside) {
  static int payload = 0;
  std::vector<sg::CommPtr> pending;
  double inside_bytes = 0;
  for (const Flow& flow : round.sends) {
    if (between_hosts(flow, cluster)) {
      pending.push_back(mailbox(flow)->put_async(&payload, static_cast<std::uint64_t>(flow.bytes)));
    } else {
      inside.of(flow)->release();
    }
  }
  std::vector<int*> received(round.receives.size());
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    const Flow& flow = round.receives[i];
    if (between_hosts(flow, cluster)) {
      pending.push_back(mailbox(flow)->get_async<int>(&received[i]));
    } else {
      inside.of(flow)->acquire();
      inside_bytes += flow.bytes;
    }
  }
  if (inside_bytes > 0) sg::this_actor::sleep_for(cluster.inside.seconds(inside_bytes));
  for (const sg::CommPtr& message : pending) message->wait();
}

}  // namespace

std::vector<simulate::NetworkTime> time_messages(const simulate::NetworkRequest& request,
                                                 sg::Engine& engine,
                                                 const std::vector<sg::Host*>& hosts,
                                                 const Progress& progress) {
  const Cluster& cluster = request.cluster;
  std::vector<simulate::NetworkTime> times;
  for (const double bytes : request.bytes) {
    const auto schedule = simulate::all_reduce_schedule(request.algorithm, bytes, cluster);
    const auto ranks = by_rank(schedule, cluster.workers);
    InsideMessages inside;
    const double begin = sg::Engine::get_clock();
    double end = begin;
    for (std::int64_t rank = 0; rank < cluster.workers; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      sg::Host* host = host_of(hosts, cluster, rank);
      sg::Actor::create(fmt::format("rank-{}", rank), host, [&, index] {
        for (std::size_t i = 0; i < schedule.size(); ++i) {
          for (std::int64_t k = 0; k < schedule[i].repeat; ++k) {
            exchange(ranks[index][i], cluster, inside);
          }
        }
        end = std::max(end, sg::Engine::get_clock());
      });
    }
    engine.run();
    double seconds = end - begin;
    for (const Round& round : schedule) seconds += simulate::fill_s(round, cluster);
    times.push_back({bytes, seconds, {}, 0});
    progress(times.size(), request.bytes.size());
  }
  return times;
}

}  // namespace lockstep::sim
