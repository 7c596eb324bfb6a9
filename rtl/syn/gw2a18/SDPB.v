// SDPB of GW2A: block RAM with one write port and one read port, under nextpnr's name; yosys 0.23 has another name.
`default_nettype none

(* blackbox *)
module SDPB #(
    parameter READ_MODE = 1'b0,
    parameter BIT_WIDTH_0 = 32,
    parameter BIT_WIDTH_1 = 32,
    parameter BLK_SEL_0 = 3'b000,
    parameter BLK_SEL_1 = 3'b000,
    parameter RESET_MODE = "SYNC"
) (
    input  wire        CLKA,
    input  wire        CEA,
    input  wire        RESETA,
    input  wire [13:0] ADA,
    input  wire [31:0] DI,
    input  wire [ 2:0] BLKSELA,
    input  wire        CLKB,
    input  wire        CEB,
    input  wire        OCE,
    input  wire        RESETB,
    input  wire [13:0] ADB,
    input  wire [ 2:0] BLKSELB,
    output wire [31:0] DO
);
endmodule

`default_nettype wire
