start();
run();
stop();
