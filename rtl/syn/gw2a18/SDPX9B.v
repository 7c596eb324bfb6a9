// SDPX9B of GW2A: block RAM with one write port and one read port, under nextpnr's name; yosys 0.23 has another name.
`default_nettype none

(* blackbox *)
module SDPX9B #(
    parameter READ_MODE = 1'b0,
    parameter BIT_WIDTH_0 = 36,
    parameter BIT_WIDTH_1 = 36,
    parameter BLK_SEL_0 = 3'b000,
    parameter BLK_SEL_1 = 3'b000,
    parameter RESET_MODE = "SYNC"
) (
    input  wire        CLKA,
    input  wire        CEA,
    input  wire        RESETA,
    input  wire [13:0] ADA,
    input  wire [35:0] DI,
    input  wire [ 2:0] BLKSELA,
    input  wire        CLKB,
    input  wire        CEB,
    input  wire        OCE,
    input  wire        RESETB,
    input  wire [13:0] ADB,
    input  wire [ 2:0] BLKSELB,
    output wire [35:0] DO
);
endmodule

`default_nettype wire
