// The ECP5's logic cells with the delays of netlist.py: one unit through a LUT, zero through the cells after it.
//
// test_netlist.py counts changes with them in an event-driven simulator. Changes are scheduled by nonblocking assignments,
// so that no change replaces another one.
`timescale 1ns / 1ns
`default_nettype none

module LUT4 #(
    parameter [15:0] INIT = 16'd0
) (
    input  wire A,
    input  wire B,
    input  wire C,
    input  wire D,
    output reg  Z
);

  wire [3:0] at = {D, C, B, A};
  always @(at) Z <= #1 INIT[at];
  initial #1 Z = INIT[at];  // inputs that are constant never change

endmodule

module CCU2C #(
    parameter [15:0] INIT0 = 16'd0,
    parameter [15:0] INIT1 = 16'd0,
    parameter INJECT1_0 = "YES",
    parameter INJECT1_1 = "YES"
) (
    input  wire CIN,
    input  wire A0,
    input  wire B0,
    input  wire C0,
    input  wire D0,
    input  wire A1,
    input  wire B1,
    input  wire C1,
    input  wire D1,
    output wire S0,
    output wire S1,
    output wire COUT
);

  wire [3:0] at_0 = {D0, C0, B0, A0}, at_1 = {D1, C1, B1, A1};
  reg passes_0, passes_1, makes_0, makes_1;
  always @(at_0) begin
    passes_0 <= #1 INIT0[at_0];
    makes_0 <= #1 INIT0[{2'd0, at_0[1:0]}];
  end
  always @(at_1) begin
    passes_1 <= #1 INIT1[at_1];
    makes_1 <= #1 INIT1[{2'd0, at_1[1:0]}];
  end

  initial begin
    #1;  // inputs that are constant never change
    {passes_0, passes_1} = {INIT0[at_0], INIT1[at_1]};
    {makes_0, makes_1} = {INIT0[{2'd0, at_0[1:0]}], INIT1[{2'd0, at_1[1:0]}]};
  end

  wire carry = passes_0 ? CIN : makes_0 && INJECT1_0 == "NO";
  assign S0 = passes_0 ^ (CIN && INJECT1_0 == "NO");
  assign S1 = passes_1 ^ (carry && INJECT1_1 == "NO");
  assign COUT = passes_1 ? carry : makes_1 && INJECT1_1 == "NO";

endmodule

module TRELLIS_FF #(
    parameter GSR = "DISABLED",
    parameter CEMUX = "1",
    parameter CLKMUX = "CLK",
    parameter LSRMUX = "LSR",
    parameter SRMODE = "LSR_OVER_CE",
    parameter REGSET = "RESET"
) (
    input  wire CLK,
    input  wire LSR,
    input  wire CE,
    input  wire DI,
    output reg  Q
);

  wire enable = CEMUX == "1" || CE ^ (CEMUX == "INV");
  wire resets = LSR ^ (LSRMUX == "INV");
  initial Q = REGSET == "SET";
  always @(posedge CLK)
    if (resets) Q <= REGSET == "SET";
    else if (enable) Q <= DI;

endmodule

`default_nettype wire
