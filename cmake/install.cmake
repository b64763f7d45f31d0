# Installs, beside the binary, the C library, its headers and pkg-config's file.
#
# libquarry.so holds the embedded engine and the client; only what is marked
# QUARRY_EXPORT can be seen, and of that what begins with quarry_. Headers keep their paths below include/quarry, so
# that they include each other as in the source tree.

if(TARGET quarry_client)
    add_library(quarry_shared SHARED cmake/libquarry.c)
    target_link_libraries(quarry_shared PRIVATE
        -Wl,--whole-archive quarry_core quarry_client quarry_streams
        quarry_view quarry_observer quarry_backup
        -Wl,--no-whole-archive
        quarry_view quarry_client quarry_streams
        -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libquarry.map)
    set_target_properties(quarry_shared PROPERTIES
        OUTPUT_NAME quarry
        LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libquarry.map
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR})
    install(TARGETS quarry_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(TARGET quarry)
    install(TARGETS quarry RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

foreach(header
        base/core/buf.h base/core/err.h base/core/macros.h base/core/slice.h
        bigtable/client/bulk_load.h bigtable/quarry.h
        bigtable/quarry_access.h bigtable/quarry_changes.h bigtable/quarry_index.h bigtable/quarry_observer.h bigtable/quarry_txn.h
        bigtable/quarry_replication.h bigtable/quarry_backup.h
        bigtable/row/alteration.h bigtable/row/cells.h bigtable/row/change.h
        bigtable/row/explain_counts.h
        bigtable/row/quota.h bigtable/row/row_request.h
        mapreduce/mapreduce.h)
    get_filename_component(dir ${header} DIRECTORY)
    install(FILES ${header}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quarry/${dir}
            COMPONENT headers)
endforeach()
foreach(door quarry.h:bigtable/quarry.h
             bulk_load.h:bigtable/client/bulk_load.h
             quarry_access.h:bigtable/quarry_access.h
             quarry_changes.h:bigtable/quarry_changes.h
             quarry_index.h:bigtable/quarry_index.h
             quarry_observer.h:bigtable/quarry_observer.h
             quarry_txn.h:bigtable/quarry_txn.h
             quarry_replication.h:bigtable/quarry_replication.h
             quarry_backup.h:bigtable/quarry_backup.h
             mapreduce.h:mapreduce/mapreduce.h)
    string(REPLACE ":" ";" pair ${door})
    list(GET pair 0 name)
    list(GET pair 1 path)
    file(WRITE ${CMAKE_BINARY_DIR}/include/${name} "#include \"${path}\"\n")
    install(FILES ${CMAKE_BINARY_DIR}/include/${name}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/quarry
            COMPONENT headers)
endforeach()

# find_package(quarry): the library, and quarry_add_job().
configure_file(cmake/quarryConfig.cmake.in
               ${CMAKE_BINARY_DIR}/quarryConfig.cmake @ONLY)
file(WRITE ${CMAKE_BINARY_DIR}/quarryConfigVersion.cmake
     "set(PACKAGE_VERSION ${PROJECT_VERSION})\n"
     "if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n"
     "    set(PACKAGE_VERSION_COMPATIBLE TRUE)\n"
     "endif()\n")
install(FILES ${CMAKE_BINARY_DIR}/quarryConfig.cmake
              ${CMAKE_BINARY_DIR}/quarryConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quarry COMPONENT headers)

# From where the file lies: what is installed may be moved.
file(RELATIVE_PATH QUARRY_PC_PREFIX
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" QUARRY_PC_PREFIX "${QUARRY_PC_PREFIX}")
configure_file(cmake/quarry.pc.in ${CMAKE_BINARY_DIR}/quarry.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/quarry.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT headers)
