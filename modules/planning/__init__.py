"""The planner's decisions, one file each: engine settings, purchase, nodes, lifecycle, scaling, pods, money, reasons."""
