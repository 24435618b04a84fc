NAME tiny_switch
ROWS
 N  cost
 G  demand
 L  link_a
 L  link_b
COLUMNS
    flow_a  cost 1  demand 1
    flow_a  link_a 1
    flow_b  cost 2  demand 1
    flow_b  link_b 1
    MARKER  'MARKER'  'INTORG'
    open_a  cost 40  link_a -100000000
    open_b  cost 60  link_b -100000000
    MARKER  'MARKER'  'INTEND'
RHS
    RHS  demand 5
BOUNDS
 BV BND  open_a
 BV BND  open_b
ENDATA
