# find_package(uvms_adaptive_dynamics) of a C++ package: the target of the header-only feedforward.
include(CMakeFindDependencyMacro)
find_dependency(Eigen3)
if(NOT TARGET uvms_adaptive_dynamics::feedforward)
  add_library(uvms_adaptive_dynamics::feedforward INTERFACE IMPORTED)
  get_filename_component(_uvms_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  set_target_properties(uvms_adaptive_dynamics::feedforward PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_uvms_prefix}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES Eigen3::Eigen)
  unset(_uvms_prefix)
endif()
