// A block RAM of Cyclone IV E without a function, only for counting.
`default_nettype none

(* blackbox *)
module m9k #(
    parameter WIDTH = 36,
    parameter ADDR_W = 8
) (
    input  wire              clk,
    input  wire              write,
    input  wire [ADDR_W-1:0] write_addr,
    input  wire [ WIDTH-1:0] write_data,
    input  wire              enable,
    input  wire [ADDR_W-1:0] read_addr,
    output wire [ WIDTH-1:0] read_data
);
endmodule

`default_nettype wire
