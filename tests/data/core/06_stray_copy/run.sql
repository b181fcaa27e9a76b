CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (2, 'gemm'), (3, 'cudaLaunchKernel');
CREATE TABLE TARGET_INFO_GPU (id, name);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'GPU a'), (1, 'GPU b');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, shortName);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 7, 11, 100 << 24, 2), (100, 200, 1, 7, 11, 101 << 24, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, copyKind);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20, 30, 0, 7, 10, 101 << 24, 1);
