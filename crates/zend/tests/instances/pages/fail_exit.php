<?php
usleep(2000);
echo "bye";
exit(3);
