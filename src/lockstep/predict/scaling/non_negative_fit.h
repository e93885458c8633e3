#pragma once

#include <Eigen/Core>

namespace lockstep::predict {

/// Non-negative least squares over at most four columns: the best of all subsets whose ordinary
/// solution is non-negative, which is exact at this size. Private to this module (Eigen).
Eigen::VectorXd non_negative_fit(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace lockstep::predict
