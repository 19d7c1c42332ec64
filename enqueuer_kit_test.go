package work_test
