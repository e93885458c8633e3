#include "lockstep/data_parallel.h"

#include <exception>

#include "lockstep/library/reducer.h"

namespace lockstep {

class DataParallelBase::Engine : public library::Reducer {
 public:
  using library::Reducer::Reducer;
};

DataParallelBase::DataParallelBase(std::shared_ptr<torch::nn::Module> module, const Job& job,
                                   DataParallelOptions options)
    : engine_(std::make_unique<Engine>(std::move(module), job, std::move(options))) {}

DataParallelBase::~DataParallelBase() = default;

void DataParallelBase::before_forward(std::int64_t examples) {
  engine_->before_forward(examples);
}

void DataParallelBase::after_forward() {
  engine_->after_forward();
}

void DataParallelBase::broadcast_buffers() {
  engine_->broadcast_buffers();
}

std::optional<NoiseEstimate> DataParallelBase::noise_scale() const {
  return engine_->noise_scale();
}

std::size_t DataParallelBase::buckets() const {
  return engine_->buckets();
}

DataParallelBase::NoSync::NoSync(DataParallelBase& parallel, bool on)
    : parallel_(parallel), on_(on) {
  if (on_) parallel_.engine_->pause(true);
}

DataParallelBase::NoSync::~NoSync() {
  if (on_) parallel_.engine_->pause(false);
}

DataParallelBase::Join::Join(DataParallelBase& parallel)
    : parallel_(parallel), exceptions_(std::uncaught_exceptions()) {
  parallel_.engine_->begin_join();
}

DataParallelBase::Join::~Join() noexcept(false) {
  if (std::uncaught_exceptions() == exceptions_) finish();
}

void DataParallelBase::Join::finish() {
  if (std::exchange(finished_, true)) return;
  parallel_.engine_->finish_join();
}

}  // namespace lockstep
