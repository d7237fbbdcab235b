// Copyright 2026 uvms_adaptive_dynamics developers
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// Feedforward of an underwater vehicle and its arm from identified parameters; Eigen only, C++17.
//
// Same equations as uvms_adaptive_dynamics in Python; a test checks that they agree: the vehicle's
// regressor (6 x 27) and the arm's (recursive Newton-Euler on a moving base). Everything is linear
// in the parameters: tau = Y pi, with covariance Y Sigma Y^T.
//
// Conventions: SI, body forward-right-down, world north-east-down. `down` is the world's down axis
// in the body frame, the third row of R_nb: (0, 0, 1) if the vehicle is level. Parameters are read
// by name from the estimator's ~/trusted_parameters (sensor_msgs/JointState: name, position).
// Convert vectors from forward-left-up axes with `frd_from_flu`. Additional terms of the estimate
// (setting robot.terms, docs/terms.md) are not included in these equations and are ignored: do not
// estimate them for a controller that uses this file. With the setting estimation.coupling `none`
// the vehicle's rows are fitted without the arm's wrench: do not add it to the vehicle's.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace uvms_adaptive_dynamics {

using Vector3 = Eigen::Vector3d;
using Matrix3 = Eigen::Matrix3d;
using Vector6 = Eigen::Matrix<double, 6, 1>;
using VehicleParameters = Eigen::Matrix<double, 27, 1>;
using VehicleRegressor = Eigen::Matrix<double, 6, 27>;

// Names of the vehicle's parameters in the order of the regressor's columns.
inline constexpr std::array<const char *, 27> kVehicleNames = {
    "m_X_du", "m_Y_dv", "m_Z_dw", "mzg_X_dq", "mzg_Y_dp", "mzg_K_dv", "mzg_M_du", "Ix_K_dp",
    "Iy_M_dq", "Iz_N_dr", "X_u", "Y_v", "Z_w", "K_p", "M_q", "N_r", "X_uu", "Y_vv", "Z_ww",
    "K_pp", "M_qq", "N_rr", "W", "B", "xgW_xbB", "ygW_ybB", "zgW_zbB"};

// Names of a link's parameters after "<joint>.", in the order of its columns.
inline constexpr std::array<const char *, 12> kLinkNames = {
    "m", "mlx", "mly", "mlz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz", "fv", "fs"};

// S(x) with S(x) y = x cross y.
inline Matrix3 skew(const Vector3 &x) {
  Matrix3 S;
  S << 0.0, -x.z(), x.y(), x.z(), 0.0, -x.x(), -x.y(), x.x(), 0.0;
  return S;
}

// Converts a vector from forward-left-up to forward-right-down body axes, and vice versa.
inline Vector3 frd_from_flu(const Vector3 &x) { return {x.x(), -x.y(), -x.z()}; }

// Value of `name`; throws std::invalid_argument if it is missing or not finite.
inline double value_of(const std::string &name, const std::vector<std::string> &names,
                       const std::vector<double> &values) {
  for (std::size_t k = 0; k < names.size() && k < values.size(); ++k) {
    if (names[k] == name) {
      if (!std::isfinite(values[k])) {
        throw std::invalid_argument("parameter '" + name + "' is not finite");
      }
      return values[k];
    }
  }
  throw std::invalid_argument("parameter '" + name + "' is missing; expected the names of the "
                              "estimator's ~/trusted_parameters");
}

// The vehicle's 27 parameters by name; throws std::invalid_argument for a missing or bad one.
inline VehicleParameters vehicle_parameters(const std::vector<std::string> &names,
                                            const std::vector<double> &values) {
  VehicleParameters pi;
  for (std::size_t k = 0; k < kVehicleNames.size(); ++k) {
    pi[static_cast<Eigen::Index>(k)] = value_of(kVehicleNames[k], names, values);
  }
  return pi;
}

// The 12 n link parameters by joint name, base to tip; throws std::invalid_argument.
inline Eigen::VectorXd arm_parameters(const std::vector<std::string> &joints,
                                      const std::vector<std::string> &names,
                                      const std::vector<double> &values) {
  Eigen::VectorXd pi(static_cast<Eigen::Index>(kLinkNames.size() * joints.size()));
  Eigen::Index k = 0;
  for (const std::string &joint : joints) {
    for (const char *name : kLinkNames) {
      pi[k++] = value_of(joint + "." + name, names, values);
    }
  }
  return pi;
}

// Y_v: thruster wrench X Y Z [N], K M N [N m] = Y_v pi_v, without the arm's reaction.
// nu [m/s, rad/s] and nu_dot, its derivative in the body frame, are in body FRD.
inline VehicleRegressor vehicle_regressor(const Vector6 &nu, const Vector6 &nu_dot,
                                          const Vector3 &down) {
  // Row and column of each inertia parameter in M.
  constexpr std::array<std::array<int, 2>, 10> places = {
      {{0, 0}, {1, 1}, {2, 2}, {0, 4}, {1, 3}, {3, 1}, {4, 0}, {3, 3}, {4, 4}, {5, 5}}};
  VehicleRegressor Y = VehicleRegressor::Zero();
  const Vector3 v = nu.head<3>(), w = nu.tail<3>();
  for (int k = 0; k < 10; ++k) {
    const int i = places[k][0], j = places[k][1];
    Y(i, k) += nu_dot[j];
    // C(nu) nu = [w x a; v x a + w x b], where a and b are the halves of M nu.
    const Vector3 momentum = nu[j] * Vector3::Unit(i % 3);
    if (i < 3) {
      Y.col(k).head<3>() += w.cross(momentum);
      Y.col(k).tail<3>() += v.cross(momentum);
    } else {
      Y.col(k).tail<3>() += w.cross(momentum);
    }
  }
  for (int i = 0; i < 6; ++i) {     // damping coefficients are negative
    Y(i, 10 + i) = -nu[i];
    Y(i, 16 + i) = -std::abs(nu[i]) * nu[i];
  }
  Y.block<3, 1>(0, 22) = -down;
  Y.block<3, 1>(0, 23) = down;
  Y.block<3, 3>(3, 24) = skew(down);
  return Y;
}

// tau_v of the vehicle without the arm [N, N m], body FRD.
inline Vector6 vehicle_feedforward(const VehicleParameters &pi, const Vector6 &nu,
                                   const Vector6 &nu_dot, const Vector3 &down) {
  return vehicle_regressor(nu, nu_dot, down) * pi;
}

// R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF.
inline Matrix3 from_rpy(const Vector3 &rpy) {
  const double cr = std::cos(rpy.x()), sr = std::sin(rpy.x()), cp = std::cos(rpy.y()),
               sp = std::sin(rpy.y()), cy = std::cos(rpy.z()), sy = std::sin(rpy.z());
  Matrix3 R;
  R << cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,
      sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,
      -sp, cp * sr, cp * cr;
  return R;
}

// Pose of a frame in its parent frame.
struct Placement {
  Matrix3 R = Matrix3::Identity();
  Vector3 p = Vector3::Zero();

  // From a URDF <origin>.
  static Placement from_urdf(const Vector3 &xyz, const Vector3 &rpy) { return {from_rpy(rpy), xyz}; }

  // Pose of the arm's root link in the body's forward-right-down axes, from robot.mount_xyz and
  // robot.mount_rpy in forward-left-up axes.
  static Placement mount(const Vector3 &xyz, const Vector3 &rpy) {
    const Matrix3 flip = Vector3(1.0, -1.0, -1.0).asDiagonal();
    return {flip * from_rpy(rpy), flip * xyz};
  }

  Placement operator*(const Placement &inner) const { return {R * inner.R, R * inner.p + p}; }
};

// A joint of a serial chain: its frame at position zero in the frame of the previous joint
// (including fixed joints in between; for the first joint, including the mount), and its axis in
// its own frame, normalized to unit length (a URDF axis may be longer).
struct Joint {
  Placement origin;
  Vector3 axis = Vector3::UnitZ();
  bool prismatic = false;
};

// Regressors of the arm per link parameter: the wrench that the vehicle must supply (6 x 12 n),
// about the body's origin in FRD [N, N m], and the joint efforts (n x 12 n) [N m or N].
struct ArmRegressor {
  Eigen::Matrix<double, 6, Eigen::Dynamic> wrench;
  Eigen::MatrixXd joints;
};

namespace detail {

// Regressor (6 x 10) of a rigid body's force [N] and moment [N m] in a body-fixed frame; `a` is the
// acceleration of the frame's origin minus gravity, w and alpha the angular velocity and
// acceleration.
inline Eigen::Matrix<double, 6, 10> body_regressor(const Vector3 &a, const Vector3 &w,
                                                   const Vector3 &alpha) {
  const auto inertia = [](const Vector3 &x) {     // I x per (Ixx, Iyy, Izz, Ixy, Ixz, Iyz)
    Eigen::Matrix<double, 3, 6> L;
    L << x.x(), 0.0, 0.0, x.y(), x.z(), 0.0,
        0.0, x.y(), 0.0, x.x(), 0.0, x.z(),
        0.0, 0.0, x.z(), 0.0, x.x(), x.y();
    return L;
  };
  Eigen::Matrix<double, 6, 10> Y = Eigen::Matrix<double, 6, 10>::Zero();
  Y.block<3, 1>(0, 0) = a;
  Y.block<3, 3>(0, 1) = skew(alpha) + skew(w) * skew(w);
  Y.block<3, 3>(3, 1) = -skew(a);
  Y.block<3, 6>(3, 4) = inertia(alpha) + skew(w) * inertia(w);
  return Y;
}

}  // namespace detail

// Arm on a moving, tilted vehicle; mu, mu_dot, mu_ddot (n) [rad or m, per s, per s^2]; gravity
// [m/s^2]. Coulomb friction is smoothed as tanh(speed / 0.02): a sign function would make joints
// chatter at rest.
inline ArmRegressor arm_regressor(const std::vector<Joint> &chain, const Eigen::VectorXd &mu,
                                  const Eigen::VectorXd &mu_dot, const Eigen::VectorXd &mu_ddot,
                                  const Vector3 &down, const Vector6 &nu, const Vector6 &nu_dot,
                                  double gravity = 9.80665) {
  const auto n = static_cast<Eigen::Index>(chain.size());
  if (mu.size() != n || mu_dot.size() != n || mu_ddot.size() != n) {
    throw std::invalid_argument("arm_regressor: expected one joint value per joint");
  }
  ArmRegressor found{Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, 12 * n),
                     Eigen::MatrixXd::Zero(n, 12 * n)};
  Vector3 w = nu.tail<3>(), alpha = nu_dot.tail<3>();
  // Acceleration of the body's origin in body axes, minus gravity.
  Vector3 a = nu_dot.head<3>() + w.cross(nu.head<3>()) - gravity * down;
  std::vector<Placement> places;     // present pose of each joint's frame in the previous one
  for (Eigen::Index i = 0; i < n; ++i) {
    const Joint &joint = chain[static_cast<std::size_t>(i)];
    Placement here = joint.origin;
    Vector3 turn = Vector3::Zero();
    if (joint.prismatic) {
      here.p += here.R * joint.axis * mu[i];
    } else {
      const Matrix3 S = skew(joint.axis);     // Rodrigues' formula
      here.R = here.R * (Matrix3::Identity() + std::sin(mu[i]) * S
                         + (1.0 - std::cos(mu[i])) * S * S);
      turn = joint.axis * mu_dot[i];
    }
    a = here.R.transpose() * (a + alpha.cross(here.p) + w.cross(w.cross(here.p)));
    const Vector3 carried = here.R.transpose() * w;
    alpha = here.R.transpose() * alpha + carried.cross(turn);
    w = carried + turn;
    if (joint.prismatic) {
      a += joint.axis * mu_ddot[i] + 2.0 * w.cross(joint.axis) * mu_dot[i];
    } else {
      alpha += joint.axis * mu_ddot[i];
    }
    places.push_back(here);
    // This link's regressor, propagated to each joint towards the base and to the body's origin.
    Eigen::Matrix<double, 6, 10> Y = detail::body_regressor(a, w, alpha);
    for (Eigen::Index j = i; j >= 0; --j) {
      const Joint &bears = chain[static_cast<std::size_t>(j)];
      found.joints.block(j, 12 * i, 1, 10) =
          bears.axis.transpose() * (bears.prismatic ? Y.topRows<3>() : Y.bottomRows<3>());
      const Placement &place = places[static_cast<std::size_t>(j)];
      const Eigen::Matrix<double, 3, 10> force = place.R * Y.topRows<3>();
      const Eigen::Matrix<double, 3, 10> moment = place.R * Y.bottomRows<3>()
                                                  + skew(place.p) * force;
      Y << force, moment;
    }
    found.wrench.block(0, 12 * i, 6, 10) = Y;
    found.joints(i, 12 * i + 10) = mu_dot[i];
    found.joints(i, 12 * i + 11) = std::tanh(mu_dot[i] / 0.02);
  }
  return found;
}

}  // namespace uvms_adaptive_dynamics
